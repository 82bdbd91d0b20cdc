"""What runs in this operator: its controllers, what they watch, and its webhooks.

`olmkit create api` and `olmkit create webhook` add controllers and webhooks here,
and keep the existing ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from olmkit.runtime import (
    GENERATION_CHANGED,
    CacheSettings,
    ConfigurationError,
    ControllerBuilder,
    ControllerSettings,
    Conversions,
    Manager,
    Request,
    Snapshot,
    WebhookServer,
    objects,
)

from couchdb_users_operator.api.v1alpha1.databaseuser import DatabaseUser
from couchdb_users_operator.couchdb import CouchDB, Settings
from couchdb_users_operator.decisions import SECRET
from couchdb_users_operator.reconcilers.databaseuser import DatabaseUserReconciler

# The cache holds all objects of each watched kind; use a `KindScope` to select fewer.
CACHE = CacheSettings()
_SECRET_NAME = "spec.password.name"


def add_controllers(manager: Manager, environment: Mapping[str, str], *, workers: int = 2) -> None:
    """Add the controllers to the manager; the environment is that of the pod."""
    database = CouchDB(settings(environment))
    # Opened before the controllers and closed after them, also in a replica that does not lead.
    manager.enter(database)
    manager.add_controller(
        ControllerBuilder()
        .named("databaseuser")
        .watches_for(DatabaseUser, GENERATION_CHANGED)
        # Only metadata: passwords are read on demand, and not cached.
        .watches(SECRET, users_of_secrets(manager), metadata_only=True)
        .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
        .build(
            DatabaseUserReconciler(manager.client, database, manager.recorder("databaseuser")),
            registry=manager.registry,
        )
    )
    # +kubebuilder:scaffold:builder


def users_of_secrets(manager: Manager) -> Callable[[Snapshot], list[Request]]:
    """Return the users whose password is in a Secret, with an index of the cache."""
    manager.cache.add_index(DatabaseUser, _SECRET_NAME, _secret_name)
    users = manager.cache.informer(DatabaseUser)

    def users_of(secret: Snapshot) -> list[Request]:
        namespace, name = secret.key.namespace, secret.key.name
        return [one.key for one in users.list(namespace=namespace, index=(_SECRET_NAME, name))]

    return users_of


def _secret_name(user: Snapshot) -> list[str]:
    spec = objects.mapping(user.manifest().get("spec"))
    return [objects.text(objects.mapping(spec.get("password")).get("name"))]


def settings(environment: Mapping[str, str]) -> Settings:
    """Return the address of the database; a missing variable ends the process with its name."""
    names = ("COUCHDB_URL", "COUCHDB_USER", "COUCHDB_PASSWORD")
    missing = [name for name in names if not environment.get(name)]
    if missing:
        raise ConfigurationError(f"the environment variable {missing[0]} is not set")
    url, user, password = (environment[name] for name in names)
    return Settings(url=url.rstrip("/"), name=user, password=password)


def add_webhooks(server: WebhookServer) -> None:
    """Add the webhooks to their server."""
    server.add_conversions(conversions())
    # +kubebuilder:scaffold:webhook


def conversions() -> Conversions:
    """The conversions: for each kind, its hub and its other versions."""
    made = Conversions()
    # +kubebuilder:scaffold:conversion
    return made
