// Package webhook admits toys.
package webhook

// +kubebuilder:webhook:path=/mutate-toys-example-com-v1-toy,mutating=true,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1,name=mtoy-v1.kb.io,admissionReviewVersions=v1

// +kubebuilder:webhook:path=/validate-toys-example-com-v1-toy,mutating=false,failurePolicy=fail,sideEffects=None,groups=toys.example.com,resources=toys,verbs=create;update,versions=v1,name=vtoy-v1.kb.io,admissionReviewVersions=v1,timeoutSeconds=5

// Admit does it.
func Admit() {}
