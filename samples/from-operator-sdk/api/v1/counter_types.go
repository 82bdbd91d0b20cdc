package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CounterSpec defines the desired state of Counter.
// +kubebuilder:validation:XValidation:rule="self.minimum <= self.maximum",message="minimum is greater than maximum"
type CounterSpec struct {
	// Pages are the paths that are counted.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pages"
	Pages []string `json:"pages"`

	// Interval between two counts.
	// +kubebuilder:default="1m"
	Interval metav1.Duration `json:"interval,omitempty"`

	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	Minimum int32 `json:"minimum,omitempty"`

	// +kubebuilder:default=1000
	Maximum int32 `json:"maximum,omitempty"`
}

// CounterStatus defines the observed state of Counter.
type CounterStatus struct {
	// Counts of the pages by their paths.
	// +optional
	Counts map[string]int64 `json:"counts,omitempty"`

	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Interval",type=string,JSONPath=".spec.interval"
// +operator-sdk:csv:customresourcedefinitions:displayName="Counter",resources={{Deployment,v1,},{Service,v1,}}

// Counter counts the visitors of pages.
type Counter struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CounterSpec   `json:"spec"`
	Status CounterStatus `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// CounterList contains a list of Counter.
type CounterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Counter `json:"items"`
}
