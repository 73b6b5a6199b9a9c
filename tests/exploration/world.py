"""A state of the small world, how an object's change reaches whoever holds a copy of it, and what bounds a history."""

from typing import Final, NamedTuple

from classifier import api
from tests.exploration.decisions import Decisions, Settings
from tests.exploration.server import Content, Numbers, Owner, Patch

#: What a controller does between two steps.
IDLE: Final = 0

#: One controller: its copies of Workload and job (``CURRENT`` or an old content), and what it is doing (a number).
Controller = tuple[int, int, int]


class Doing(NamedTuple):
    """A step of ``controller.act`` that is under way: the next request to the server.

    ``guarded`` by the resourceVersion it was decided on; ``current``: the job's copy it was decided on is still the
    newest. ``seen``: the decisions it speaks of were live on the server at some time since the step began.
    """

    kind: str
    words: str = ""
    patch: Patch = ()
    at: int = 0
    attempt: int = 0
    uid: int = 0
    guarded: bool = True
    current: bool = True
    seen: bool = True

    @property
    def cleanup(self) -> str | None:
        """Of a deletion and what leads there: the second decision, as it is on the Workload."""
        return dict(self.patch).get(api.CLEANUP_COMMITTED)


#: Requests that change the Workload, and the job, and the looks before them, which are in vain if it changes meanwhile.
ON_WORKLOAD: Final = frozenset({"WriteWorkload", "Commit", "LookBeforeCleanup", "CommitCleanup"})
ON_OWNER: Final = frozenset(
    {"WriteOwner", "WriteMirror", "LookBeforeUnmirror", "LookBeforeDelete", "LookAtPods", "Delete"}
)
BEFORE_MIRROR: Final = frozenset({"LookBeforeMirror", "TellEvent"})


class Left(NamedTuple):
    """How much may still go wrong, or be done by people.

    ``losses``: crashes with a request under way, and answers that never come: the request may have reached the server,
    reach it at any later time, or never. ``lags``: a watch falls behind as its object changes, until it catches up.
    """

    losses: int = 0
    lags: int = 0
    reactivations: int = 0
    pauses: int = 0
    deletions: int = 0
    edits: int = 0
    lettings: int = 0
    preemptions: int = 0
    removals: int = 0
    resubmissions: int = 0
    policies: int = 0

    def without(self, name: str) -> "Left":
        return self._replace(**{name: getattr(self, name) - 1})


class Past(NamedTuple):
    """What happened, for the laws alone: nobody in the world reads it.

    ``commits`` and ``told`` are (uid, attempt, at) of the decisions made and of the events about them; ``since`` is
    when the present wait began, ``floor`` the lowest attempt a decision on it may have. ``ran``: the job was let go
    since the last decision.
    """

    uids: int = 1
    commits: tuple[tuple[int, int, int], ...] = ()
    told: frozenset[tuple[int, int, int]] = frozenset()
    since: int = 0
    floor: int = 1
    ran: bool = False


class Server(NamedTuple):
    """Everything but the controllers. Contents, ``left`` and ``past`` by number.

    ``scheduler``: 0, or that Kueue holds a copy it popped (2: with traces of an admission); ``starting``: Kueue's job
    controller holds copies by which the job is to be let go. ``wrote_workload`` and ``wrote_owner`` are true only while
    a step is carried out: that object has a new version.
    """

    now: int
    workload: int
    owner: int
    scheduler: int
    starting: bool
    left: int
    policy: int
    past: int
    wrote_workload: bool = False
    wrote_owner: bool = False


#: A server, two controllers, and requests on their way whose sender no longer waits: numbers.
State = tuple[int, int, int, int]


class Rules(NamedTuple):
    """What the protocol stands on, each to be taken away. All true: as it is."""

    fence: bool = True
    commit_version: bool = True
    second_look: bool = True
    job_look: bool = True
    settled_look: bool = True
    event: bool = True
    cleanup_look: bool = True
    ran_look: bool = True
    delete_guards: bool = True


class Setting(NamedTuple):
    """One world to be explored: its bound and what differs in it."""

    left: Left = Left()
    settings: Settings = Settings()
    #: Whether the queue has an admission check, so that Admitted is a second, strict write.
    checks: bool = False
    #: The last tick.
    horizon: int = 3
    controllers: int = 2
    #: How far the second controller's clock is behind, ms.
    behind: int = 0
    rules: Rules = Rules()
    #: Histories are followed to this attempt. Two leaders, one of whom has an old copy of a Workload that was paused
    #: and let go, write a pause and its end in turn, each end a new attempt, until that one hears of it or gives up.
    attempts: int = 5


class Step(NamedTuple):
    """What may happen next: the server after it and, if a controller did it, that controller. ``broken`` is the law it
    breaks, ``lost`` a request that is on its way from now on without anybody to wait for it.
    """

    words: str
    server: Server
    me: Controller | None = None
    broken: str | None = None
    lost: int = 0


class World:
    """Everything that is the same in all states of one setting."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.rules = setting.rules
        self.workloads: Numbers[Content] = Numbers()
        self.owners: Numbers[Owner] = Numbers()
        self.doings: Numbers[Doing] = Numbers()
        self.lefts: Numbers[Left] = Numbers()
        self.pasts: Numbers[Past] = Numbers()
        self.decisions = Decisions(setting.settings, self.workloads, self.owners)
        self.servers: Numbers[Server] = Numbers()
        self.controllers: Numbers[Controller] = Numbers()
        self.losts: Numbers[tuple[int, ...]] = Numbers()

    def start(self) -> Server:
        """Kueue has just made the Workload of a new job."""
        workload, owner = self.workloads.of(Content(1, 1, 0)), self.owners.of(Owner(1, 0))
        return Server(0, workload, owner, 0, False, self.lefts.of(self.setting.left), 0, self.pasts.of(Past()))

    # --- values by number -------------------------------------------------------------------------------------

    def content(self, state: Server) -> Content | None:
        return self.workloads.values[state.workload]

    def job(self, state: Server) -> Owner | None:
        return self.owners.values[state.owner]

    def past(self, state: Server) -> Past:
        past = self.pasts.values[state.past]
        assert past is not None
        return past

    def left(self, state: Server) -> Left:
        left = self.lefts.values[state.left]
        assert left is not None
        return left

    def doing(self, number: int) -> Doing:
        doing = self.doings.values[number]
        assert doing is not None
        return doing

    # --- changes ----------------------------------------------------------------------------------------------

    def remember(self, state: Server, past: Past) -> Server:
        return state._replace(past=self.pasts.of(past))

    def spend(self, state: Server, name: str) -> Server:
        return state._replace(left=self.lefts.of(self.left(state).without(name)))

    def put_workload(self, state: Server, content: Content | None) -> Server:
        """The Workload is changed, made or gone: it has a new version."""
        return state._replace(workload=self.workloads.of(content), wrote_workload=True)

    def put_owner(self, state: Server, job: Owner | None) -> Server:
        """The same of the job."""
        return state._replace(owner=self.owners.of(job), starting=False, wrote_owner=True)

    def overtaken(self, number: int, workload: bool, owner: bool) -> int:
        """What becomes of a request when an object changes: a guarded one is refused (409), now or when it gets there.

        After that, and after a 404, ``Handling`` reads both objects and decides again; those reads may fail, so
        here they may or may not happen, as the watch may or may not have told.
        """
        if number == IDLE:
            return IDLE
        doing = self.doing(number)
        if not doing.guarded:
            return number
        if (workload and doing.kind in ON_WORKLOAD) or (owner and doing.kind in ON_OWNER):
            return IDLE
        if owner and doing.kind in BEFORE_MIRROR:
            return self.doings.of(doing._replace(current=False))
        return number
