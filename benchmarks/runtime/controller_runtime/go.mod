module controllerruntime

go 1.26.0

require (
	github.com/go-logr/logr v1.4.3
	k8s.io/apimachinery v0.37.0
	k8s.io/client-go v0.37.0
	sigs.k8s.io/controller-runtime v0.25.2
)
