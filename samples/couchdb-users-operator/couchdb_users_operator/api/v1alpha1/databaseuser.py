"""The kind `DatabaseUser`.

`olmkit generate` reads this file as text: the CRD, the descriptors in the CSV and
their texts come from the classes, their docstrings and the marker comments.
"""

from typing import ClassVar

from olmkit.runtime import GVK, Condition, CustomResource, Int64, Model
from pydantic import Field


class SecretKey(Model):
    """A key of a Secret in the namespace of the user."""

    # +kubebuilder:validation:MinLength=1
    name: str
    """The name of the Secret."""

    # +kubebuilder:validation:MinLength=1
    key: str = "password"
    """The key in the Secret."""


# +kubebuilder:validation:XValidation:rule="self.name == oldSelf.name",message="the name of a user cannot be changed"
class DatabaseUserSpec(Model):
    """DatabaseUserSpec defines the desired state of DatabaseUser."""

    # +kubebuilder:validation:Pattern=`^[a-z][a-z0-9_-]*$`
    # +kubebuilder:validation:MaxLength=63
    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name"
    name: str
    """The name of the user in the database."""

    # +listType=set
    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Roles"
    roles: list[str] = Field(default_factory=list)
    """The roles of the user; those that begin with `_` belong to the database."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Password"
    password: SecretKey
    """Where the password is. When it changes there, it is changed in the database."""


class DatabaseUserStatus(Model):
    """DatabaseUserStatus defines the observed state of DatabaseUser."""

    # +listType=map
    # +listMapKey=type
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
    conditions: list[Condition] = Field(default_factory=list)
    """`Ready`: the user is in the database as the spec says."""

    observed_generation: Int64 = 0
    """The generation of the spec that this status describes."""


# +kubebuilder:subresource:status
# +kubebuilder:resource:shortName=dbuser
# +kubebuilder:printcolumn:name="User",type=string,JSONPath=".spec.name"
# +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
# +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=".status.conditions[?(@.type==\"Ready\")].reason"
# +operator-sdk:csv:customresourcedefinitions:displayName="Database user",resources={{Secret,v1,}}
class DatabaseUser(CustomResource):
    """DatabaseUser is a user of a CouchDB database server."""

    gvk: ClassVar[GVK] = GVK(group="couchdb.example.com", version="v1alpha1", kind="DatabaseUser")

    spec: DatabaseUserSpec
    """What is wanted."""

    status: DatabaseUserStatus | None = None
    """What there is."""
