// +kubebuilder:skip
// +groupName=toys.example.com
package v4

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ToySpec is to come.
type ToySpec struct {
	Needed string `json:"needed"`
}

// Toy is not read.
// +kubebuilder:resource:shortName=ty
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
