// +groupName=toys.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get

// ToySpec has a size. And more words than fit.
type ToySpec struct {
	// +kubebuilder:validation:minimum=1
	Size int `json:"size"`
	hidden int
}

// Toy is the kind.
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
