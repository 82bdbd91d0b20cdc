// Package v1 holds one kind that uses most forms of types and markers.
// +groupName=shapes.example.com
// +versionName=v1
package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Colour is what a side is painted in.
// +kubebuilder:validation:Enum=red;blue
type Colour string

// Level counts.
// +kubebuilder:validation:Enum=1;2
type Level int

// Name is a short text.
// +kubebuilder:validation:MinLength=4
// +kubebuilder:validation:Pattern=`^[a-z]+$`
type Name string

// Side is one side of a shape.
type Side struct {
	// Length in millimetres.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:ExclusiveMinimum=true
	Length int64 `json:"length"`

	// +kubebuilder:default=red
	// +optional
	Colour Colour `json:"colour,omitempty"`

	// +kubebuilder:validation:MinLength=2
	Name Name `json:"name"`

	Inner *Corner `json:"inner,omitempty"`
}

// Corner is where two sides meet.
// +kubebuilder:validation:AtMostOneOf=degrees;radians
// +kubebuilder:validation:XValidation:rule="self.degrees < 360",message="too far"
type Corner struct {
	// +optional
	Degrees int32 `json:"degrees,omitempty"`
	// +optional
	Radians string `json:"radians,omitempty"`
}

// Common is shared by shapes.
type Common struct {
	// Title of the shape.
	// +kubebuilder:title="The title"
	// +kubebuilder:example=Square
	Title string `json:"title"`

	// +k8s:immutable
	// +optional
	Serial string `json:"serial,omitempty"`
}

// ShapeSpec says what a shape is like.
//
// It has two paragraphs.
type ShapeSpec struct {
	Common `json:",inline"`

	// Sides, each with a different name.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=12
	// +kubebuilder:validation:MinItems=3
	Sides []Side `json:"sides"`

	// +optional
	ByColour map[string]Side `json:"byColour,omitempty"`

	// +listType=set
	// +kubebuilder:validation:items:MaxLength=10
	// +optional
	Tags []string `json:"tags,omitempty"`

	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// +optional
	Level Level `json:"level,omitempty"`

	// +nullable
	// +optional
	Weight *resource.Quantity `json:"weight,omitempty"`

	// +optional
	Port intstr.IntOrString `json:"port,omitempty"`

	// +optional
	Since *metav1.Time `json:"since,omitempty"`

	// +optional
	Wait *metav1.Duration `json:"wait,omitempty"`

	// +optional
	Data []byte `json:"data,omitempty"`

	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Extra runtime.RawExtension `json:"extra,omitempty"`

	// +k8s:required
	Owner string `json:"owner"`

	// +kubebuilder:default={a: 1}
	// +optional
	Counts map[string]int `json:"counts,omitempty"`

	// +kubebuilder:default={1,2}
	// +optional
	Numbers []int `json:"numbers,omitempty"`

	// +kubebuilder:validation:Enum=low;high
	// +kubebuilder:default=low
	// +optional
	Priority string `json:"priority,omitempty"`

	// +kubebuilder:validation:Format=uri
	// +kubebuilder:externalDocs:url=https://example.com,description="More of it."
	// +optional
	Link string `json:"link,omitempty"`

	// +optional
	On bool `json:"on,omitempty"`
}

// ShapeStatus says how a shape does.
type ShapeStatus struct {
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Shape has sides.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
// +kubebuilder:resource:path=shapes,shortName=sh;shp,categories=all,scope=Cluster
// +kubebuilder:printcolumn:name=Title,type=string,JSONPath=.spec.title,priority=1
// +kubebuilder:selectablefield:JSONPath=.spec.title
// +kubebuilder:metadata:labels=made=here,annotations="a.b/c=d"
type Shape struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ShapeSpec `json:"spec"`
	// +optional
	Status ShapeStatus `json:"status,omitempty"`
}

// ShapeList is a list of Shape.
// +kubebuilder:object:root=true
type ShapeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Shape `json:"items"`
}
