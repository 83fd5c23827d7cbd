"""Every exception that tacit raises on purpose."""


class TacitError(Exception):
    """Base class of all errors that tacit raises on purpose."""


class InvalidInput(TacitError, ValueError):
    """A value is not allowed; nothing was changed and the object stays usable."""


class Conflict(InvalidInput):
    """A name in a store is taken by another contract; nothing was changed."""


class ProtocolError(TacitError, RuntimeError):
    """Calls came in the wrong order, or after the last round; nothing was changed."""


class PrivacyError(TacitError, ValueError):
    """A privacy contract cannot be met, or two contracts may not be combined."""


class StoreError(TacitError, RuntimeError):
    """A store could not read or write; nothing was shown, and it goes on from the last commit."""


class ServiceError(TacitError, RuntimeError):
    """A service could not be reached, refused the token, or failed."""


class MissingExtra(TacitError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""
