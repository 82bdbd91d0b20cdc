// +groupName=marks.example.com
// +versionName=v1beta1
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Colour is one of three.
// +k8s:enum
type Colour string

const (
	Red   Colour = "red"
	Green Colour = "green"
	Blue  Colour = "blue"
)

// Choice has one field.
// +kubebuilder:validation:ExactlyOneOf=a;b
// +structType=atomic
type Choice struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

// Item has a key.
type Item struct {
	Name string `json:"name"`
}

// Limited is limited by type and field.
// +kubebuilder:validation:MaxLength=9
type Limited string

// MarkSpec has a marker of each form.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:XValidation:rule="self.low < self.high",message="low below high",fieldPath=".low",reason=FieldValueInvalid
type MarkSpec struct {
	// +kubebuilder:validation:Minimum=-5
	// +kubebuilder:validation:ExclusiveMinimum=true
	// +kubebuilder:validation:MultipleOf=5
	Low int `json:"low"`
	// +k8s:maximum=10 # ten
	// +k8s:minimum=1
	High int64 `json:"high"`
	// +kubebuilder:validation:Pattern=`^[a-z]{1,3}$`
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Format=hostname
	Name string `json:"name"`
	// +kubebuilder:validation:Enum=a;"1";b c
	Enum string `json:"enum"`
	// +kubebuilder:validation:MaxLength=5
	Limited Limited `json:"limited"`
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=4
	// +kubebuilder:validation:items:Enum=x;y
	// +listType=set
	Set []string `json:"set"`
	// +listType=map
	// +listMapKey=name
	Items []Item `json:"items"`
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=7
	Map map[string]string `json:"map"`
	// +kubebuilder:default={name: n, size: 1, names: {a,b}}
	// +kubebuilder:example={size: 2}
	// +kubebuilder:title="A title"
	// +kubebuilder:externalDocs:url=https://example.com,description="more"
	// +kubebuilder:pruning:PreserveUnknownFields
	Free *Item `json:"free,omitempty"`
	// +default={"name": "x"}
	Json *Item `json:"json,omitempty"`
	// +nullable
	// +optional
	Null *string `json:"null"`
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Any any `json:"any"`
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern="^[0-9]+%?$"
	Percent string `json:"percent"`
	// +k8s:required
	Needed []string `json:"needed,omitempty"`
	// +k8s:immutable
	// +k8s:optional
	Fixed  string `json:"fixed"`
	Colour Colour `json:"colour"`
	Choice Choice `json:"choice"`
}

// Mark is the kind.
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.low,statuspath=.status.low,selectorpath=.status.selector
// +kubebuilder:resource:path=markings,singular=marking,shortName=mk;mks,categories=all,scope=Cluster
// +kubebuilder:printcolumn:name="Low",type=integer,JSONPath=`.spec.low`,priority=1,format=int32,description="The low one"
// +kubebuilder:selectablefield:JSONPath=.spec.name
// +kubebuilder:metadata:labels={a=b},annotations="c=d"
// +kubebuilder:deprecatedversion:warning="use v2"
// +kubebuilder:storageversion
type Mark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MarkSpec `json:"spec"`
}
