// Package controller keeps toys in order.
package controller

// ToyReconciler reconciles toys.
type ToyReconciler struct {
	Anything any
}

// +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=toys.example.com,resources=toys/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",namespace=toys-system,resources=secrets,verbs=get

// Reconcile does it.
func (r *ToyReconciler) Reconcile() error {
	// +kubebuilder:rbac:groups=never,resources=read,verbs=get
	return nil
}
