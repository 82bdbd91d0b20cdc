// Package parts is shared by the versions of the API.
package parts

// Name of a part.
// +kubebuilder:validation:MinLength=1
type Name string

// Part is a piece of a toy.
type Part struct {
	// +operator-sdk:csv:customresourcedefinitions:type=spec,order=1
	Name  Name `json:"name"`
	Count int  `json:"count,omitempty"`
}
