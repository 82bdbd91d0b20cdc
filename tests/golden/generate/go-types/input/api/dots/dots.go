// Package dots is imported with a dot.
package dots

// Dot is a point.
type Dot struct {
	X int32 `json:"x"`
}
