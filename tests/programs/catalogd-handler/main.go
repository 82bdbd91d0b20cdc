// catalogd's own HTTP handler for one catalog in a folder, without a cluster: its storage, its
// routes, its compression and its metrics, put together as catalogd does; nothing is logged.
package main

import (
	"context"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/operator-framework/operator-controller/internal/catalogd/metrics"
	"github.com/operator-framework/operator-controller/internal/catalogd/storage"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// catalogd-handler FOLDER NAME PLACE: serves FOLDER as NAME, keeps its files in PLACE, and
// prints the address when it answers.
func main() {
	folder, name, place := os.Args[1], os.Args[2], os.Args[3]
	root := must(url.Parse("http://localhost/catalogs/"))
	store := storage.NewLocalDirV1(place, root, storage.MetasHandlerEnabled, storage.GraphQLQueriesDisabled)
	if err := store.Store(context.Background(), name, os.DirFS(folder)); err != nil {
		log.Fatal(err)
	}
	handler := metrics.AddMetricsToHandler(gzhttp.GzipHandler(store.StorageServerHandler()))
	server := &http.Server{Handler: handler, ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Minute}
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	log.Print("http://", listener.Addr())
	log.Fatal(server.Serve(listener))
}
