// +groupName=marks.example.com
package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mark is the kind in its second version.
// +kubebuilder:unservedversion
type Mark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}
