// Package v1 has every marker that a schema knows.
// +groupName=toys.example.com
// +kubebuilder:validation:Optional
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Ratio is open on both sides.
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:ExclusiveMinimum=true
// +kubebuilder:validation:Maximum=100
// +kubebuilder:validation:ExclusiveMaximum=true
// +kubebuilder:validation:MultipleOf=5
type Ratio int

// Names are a few.
// +kubebuilder:validation:MinItems=1
// +kubebuilder:validation:MaxItems=9
// +kubebuilder:validation:items:MinLength=1
// +kubebuilder:validation:items:MaxLength=8
// +k8s:listType=set
type Names []string

// Code is short.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=5
// +kubebuilder:validation:Pattern="^[a-z]+$"
// +kubebuilder:validation:Format=hostname
type Code string

// Pair has one half at least.
// +kubebuilder:validation:AtLeastOneOf=left;right
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=2
// +structType=atomic
type Pair struct {
	Left  string `json:"left,omitempty"`
	Right string `json:"right,omitempty"`
}

// Choice has one side at most.
// +kubebuilder:validation:AtMostOneOf=one;other
// +kubebuilder:validation:XPreserveUnknownFields
type Choice struct {
	One   string `json:"one,omitempty"`
	Other string `json:"other,omitempty"`
}

// Slot has a key.
type Slot struct {
	// +required
	Name string `json:"name"`
	// +kubebuilder:default=1
	Port int32 `json:"port"`
}

// ToySpec has a field for each.
type ToySpec struct {
	// +kubebuilder:validation:Required
	Needed string `json:"needed"`
	Ratio  Ratio  `json:"ratio"`
	Names  Names  `json:"names"`
	Code   Code   `json:"code"`
	Pair   Pair   `json:"pair"`
	Choice Choice `json:"choice"`
	// +k8s:listType=map
	// +k8s:listMapKey=name
	// +k8s:listMapKey=port
	// +k8s:maxItems=4
	Slots []Slot `json:"slots"`
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:ExclusiveMinimum=true
	// +kubebuilder:validation:items:Maximum=9
	// +kubebuilder:validation:items:ExclusiveMaximum=true
	// +kubebuilder:validation:items:MultipleOf=2
	Numbers []int `json:"numbers"`
	// +kubebuilder:validation:items:Pattern="^a"
	// +kubebuilder:validation:items:Format=date
	// +kubebuilder:validation:items:XValidation:rule="self != 'b'",message="no b"
	Texts []string `json:"texts"`
	// +kubebuilder:validation:items:MinItems=1
	// +kubebuilder:validation:items:MaxItems=2
	Lists [][]string `json:"lists"`
	// +kubebuilder:validation:items:MinProperties=1
	// +kubebuilder:validation:items:MaxProperties=2
	Maps []map[string]string `json:"maps"`
	// +kubebuilder:validation:items:Type=object
	// +kubebuilder:validation:items:XEmbeddedResource
	// +kubebuilder:validation:items:XPreserveUnknownFields
	Objects []Choice `json:"objects"`
	// +kubebuilder:validation:items:XIntOrString
	// +kubebuilder:validation:items:MaxLength=5
	Either []intstr.IntOrString `json:"either"`
	// +kubebuilder:validation:items:Enum=a;b
	Few []string `json:"few"`
	// +kubebuilder:validation:UniqueItems=false
	// +kubebuilder:validation:items:UniqueItems=false
	Unique [][]string `json:"unique"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:XPreserveUnknownFields
	Free any `json:"free"`
}

// Toy is the kind that is stored.
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ty
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
