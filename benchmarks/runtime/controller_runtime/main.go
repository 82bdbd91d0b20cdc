// The benchmark's controller on controller-runtime: writes the status of a Thing
// when it does not say what the specification says. Usage: controller SERVER WORKERS
package main

import (
	"context"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type ThingSpec struct {
	Size int64  `json:"size"`
	Text string `json:"text"`
}

type ThingStatus struct {
	Observed int64 `json:"observed"`
}

type Thing struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ThingSpec   `json:"spec"`
	Status            ThingStatus `json:"status"`
}

func (in *Thing) DeepCopyObject() runtime.Object {
	out := &Thing{TypeMeta: in.TypeMeta, Spec: in.Spec, Status: in.Status}
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

type ThingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Thing `json:"items"`
}

func (in *ThingList) DeepCopyObject() runtime.Object {
	out := &ThingList{TypeMeta: in.TypeMeta}
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Thing))
	}
	return out
}

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	thing := &Thing{}
	if err := r.Get(ctx, request.NamespacedName, thing); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if thing.Status.Observed == thing.Spec.Size {
		return ctrl.Result{}, nil
	}
	old := thing.DeepCopyObject().(*Thing)
	thing.Status.Observed = thing.Spec.Size
	return ctrl.Result{}, r.Status().Patch(ctx, thing, client.MergeFrom(old))
}

func main() {
	workers, err := strconv.Atoi(os.Args[2])
	must(err)
	ctrl.SetLogger(logr.Discard())
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(version, &Thing{}, &ThingList{})
	metav1.AddToGroupVersion(scheme, version)
	// QPS -1: no limit of the client's own on its requests.
	manager, err := ctrl.NewManager(&rest.Config{Host: os.Args[1], QPS: -1}, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
	})
	must(err)
	must(ctrl.NewControllerManagedBy(manager).
		For(&Thing{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(&reconciler{manager.GetClient()}))
	must(manager.Start(ctrl.SetupSignalHandler()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
