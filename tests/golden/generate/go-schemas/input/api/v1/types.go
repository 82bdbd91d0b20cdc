// +groupName=toys.example.com
package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Short has a pattern that is none.
// +kubebuilder:validation:Pattern="a{2,1}"
// +kubebuilder:validation:MinLength=4
type Short string

// Part is a part.
type Part struct {
	// +optional
	Name string `json:"name,omitempty"`
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=3
	Size int `json:"size"`
}

// Common is in every spec.
type Common struct {
	// +kubebuilder:validation:MinItems=2
	// +kubebuilder:validation:MaxItems=1
	Items []string `json:"items"`
}

// ToySpec has schemas that no API server takes, or nothing fits.
type ToySpec struct {
	Common `json:",inline"`

	// +kubebuilder:validation:MaxLength=2
	Short Short `json:"short"`
	// +kubebuilder:default={}
	Part Part `json:"part"`
	// +listType=map
	// +listMapKey=name
	Parts []Part `json:"parts"`
	// +listType=set
	Set []Part `json:"set"`
	// +kubebuilder:validation:items:MaxLength=-1
	Names []string `json:"names"`
	// +kubebuilder:default=100
	// +kubebuilder:validation:Maximum=10
	Size int `json:"size"`
	// +kubebuilder:validation:XEmbeddedResource
	Embedded Part `json:"embedded"`
	// +kubebuilder:default={{name: x}}
	Containers []corev1.ContainerPort `json:"containers"`
	// +kubebuilder:validation:Schemaless
	Free any `json:"free"`
}

// Toy is the kind.
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
