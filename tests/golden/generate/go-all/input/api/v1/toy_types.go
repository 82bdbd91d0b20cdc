package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/toys/internal/parts"
)

// ToySpec is what a toy shall be.
type ToySpec struct {
	// Size in centimetres.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="How large",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
	Size int32 `json:"size,omitempty"`

	// Parts of which it is made.
	// +listType=map
	// +listMapKey=name
	// +optional
	Parts []parts.Part `json:"parts,omitempty"`

	// Resources it may use.
	// +operator-sdk:csv:customresourcedefinitions:type=spec
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

// ToyStatus is what it is.
type ToyStatus struct {
	// Conditions as others see them.
	// +operator-sdk:csv:customresourcedefinitions:type=status
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Toy is to be played with.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ty,categories=all
// +kubebuilder:printcolumn:name=Size,type=integer,JSONPath=.spec.size
// +operator-sdk:csv:customresourcedefinitions:resources={{Deployment,v1,toy},{Service,v1}}
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ToySpec   `json:"spec,omitempty"`
	Status ToyStatus `json:"status,omitempty"`
}

// ToyList is a list of toys.
// +kubebuilder:object:root=true
type ToyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Toy `json:"items"`
}
