// +groupName=toys.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	
)

type Spec struct {
	// +kubebuilder:validation:Pattern="abc
	A string `json:"a"`
	// +kubebuilder:validation:Enum="a;b
	B string `json:"b"`
	// +default={"a
	C string `json:"c"`
}

// +kubebuilder:resource:path="toys,scope=Cluster
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec Spec `json:"spec"`
}
