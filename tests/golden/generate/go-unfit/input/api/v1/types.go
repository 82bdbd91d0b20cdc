// +groupName=toys.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:rbac:groups="a",resources=pods,verbs=get

type ToySpec struct {
	// Words.
	Price int64 `json:"price"`
}

// +kubebuilder:object:root=true
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
