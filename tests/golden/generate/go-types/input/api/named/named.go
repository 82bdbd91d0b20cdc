// Package named is imported under another name.
package named

// +kubebuilder:validation:Optional

// Other is optional in all.
type Other struct {
	Y int32 `json:"y"`
	// +required
	Z int32 `json:"z"`
}
