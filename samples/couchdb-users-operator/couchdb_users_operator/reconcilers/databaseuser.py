"""Keeps a user in the database for each `DatabaseUser`: read, decide, act.

The finalizer is stored before anything is created in the database, and removed after the user
is deleted there. A user with that name that has another owner is neither changed nor deleted.
"""

from __future__ import annotations

from collections.abc import Callable

from olmkit.runtime import (
    NORMAL,
    WARNING,
    Client,
    EventRecorder,
    NotFound,
    Request,
    Result,
    timestamp,
)

from couchdb_users_operator import decisions
from couchdb_users_operator.api.v1alpha1.databaseuser import DatabaseUser
from couchdb_users_operator.couchdb import CouchDB, DatabaseError
from couchdb_users_operator.decisions import FINALIZER, OWNER, SECRET, NotReady

_LOOK_AGAIN = 300.0
"""The database sends no events: what is changed there by hand is found after this time."""

# +kubebuilder:rbac:groups=couchdb.example.com,resources=databaseusers,verbs=get;list;watch;patch
# +kubebuilder:rbac:groups=couchdb.example.com,resources=databaseusers/status,verbs=update
# +kubebuilder:rbac:groups=core,resources=secrets,verbs=get;list;watch
# +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch


class DatabaseUserReconciler:
    """Keeps one user in the desired state; `now` returns the time as RFC 3339 in whole seconds."""

    def __init__(
        self,
        client: Client,
        database: CouchDB,
        recorder: EventRecorder,
        *,
        now: Callable[[], str] = timestamp,
    ) -> None:
        self._client = client
        self._database = database
        self._recorder = recorder
        self._now = now

    async def reconcile(self, request: Request) -> Result:
        """Compare the actual with the desired state, and act. This must be idempotent."""
        user = await self._client.get(DatabaseUser, request, fresh=True)
        if user is None:
            return Result()
        if user.metadata.deletion_timestamp:
            await self._remove(user)
            return Result()
        user = await self._with_finalizer(user)
        try:
            await self._make_so(user)
        except NotReady as problem:  # a user must change something, which triggers a pass
            await self._say(user, problem)
        except DatabaseError as error:
            await self._say(user, NotReady("DatabaseUnavailable", str(error)))
            raise  # again after a growing delay
        else:
            await self._say(user, None)
        return Result(requeue_after=_LOOK_AGAIN)

    async def _make_so(self, user: DatabaseUser) -> None:
        spec = user.spec
        secret = await self._client.direct.get(
            SECRET, Request(spec.password.name, user.metadata.namespace)
        )
        found = await self._database.user(spec.name)
        document = decisions.document_for(user, secret, found)
        if document is None:
            return
        await self._database.put(document)
        reason, done = ("Created", "created") if found is None else ("Updated", "changed")
        note = f"{done} the user `{spec.name}`"
        self._recorder.event(user, NORMAL, reason, "Write", note)

    async def _with_finalizer(self, user: DatabaseUser) -> DatabaseUser:
        """Return the object with the finalizer, stored before the database is changed."""
        if FINALIZER in user.metadata.finalizers:
            return user
        kept = user.model_copy(deep=True)
        kept.metadata.finalizers.append(FINALIZER)
        return await self._client.patch(user, kept, locked=True)

    async def _remove(self, user: DatabaseUser) -> None:
        """Delete the user in the database, and remove the finalizer."""
        if FINALIZER not in user.metadata.finalizers:
            return
        try:
            found = await self._database.user(user.spec.name)
            if found is not None and found.get(OWNER) == user.metadata.uid:
                await self._database.delete(user.spec.name, found["_rev"])
        except DatabaseError as error:
            self._recorder.event(user, WARNING, "NotDeleted", "Delete", str(error))
            raise
        freed = user.model_copy(deep=True)
        freed.metadata.finalizers.remove(FINALIZER)
        try:
            await self._client.patch(user, freed, locked=True)
        except NotFound:
            return

    async def _say(self, user: DatabaseUser, problem: NotReady | None) -> None:
        """Write the status; a new problem is also an event."""
        status = decisions.status_from(user, problem, self._now())
        if problem is not None and (user.status is None or status != user.status):
            self._recorder.event(user, WARNING, problem.reason, "Write", str(problem))
        try:
            await self._client.update_status(user.model_copy(update={"status": status}))
        except NotFound:
            return  # it was deleted in the meantime
