// +groupName=toys.example.com
package v1

import (
	"time"

	"example.org/nowhere"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +kubebuilder:rbac:groups=toys.example.com,resources=toys,verb=get

// +kubebuilder:webhook:path=/x,mutating=true,failurePolicy=fail,sideEffects=Some,groups=toys.example.com,resources=toys,verbs=create,versions=v1,name=x.kb.io,admissionReviewVersions=v1

// Node is a tree.
type Node struct {
	Next *Node `json:"next"`
}

// ToySpec has mistakes.
type ToySpec struct {
	// +kubebuilder:validation:Pattern=`[a-z
	Pattern string `json:"pattern"`
	// +kubebuilder:validation:maximum=5
	Misspelt int `json:"misspelt"`
	// +kubebuilder:validation:MinLength=1
	Number int `json:"number"`
	// +kubebuilder:rbac:groups="",resources=pods,verbs=get
	Misplaced int `json:"misplaced"`
	Free      any `json:"free"`
	Untagged  string
	Float     float64         `json:"float"`
	Time      time.Time       `json:"time"`
	Map       map[int]string  `json:"map"`
	Unknown   Unknown         `json:"unknown"`
	Foreign   nowhere.Type    `json:"foreign"`
	Meta      metav1.Nothing  `json:"meta"`
	Inline    struct{ A int } `json:"inline"`
	Node      Node            `json:"node"`
}

// Toy is the kind.
type Toy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ToySpec `json:"spec"`
}
