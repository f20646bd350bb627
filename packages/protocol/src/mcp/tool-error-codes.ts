/** The codes of failed tool calls. `retryable` tells whether the same call may succeed later. */
export const toolErrorCodes = {
  tool_not_found: {
    category: 'permanent',
    retryable: false,
    meaning: 'No tool has this name; `hint` names one with a similar name.',
  },
  not_found: {
    category: 'permanent',
    retryable: false,
    meaning: 'No such resource, prompt, approval or call is known.',
  },
  tool_timeout: { category: 'transient', retryable: true, meaning: 'The tool did not answer in time.' },
  tool_panicked: {
    category: 'permanent',
    retryable: false,
    meaning: 'An unexpected error ended the call in the orchestrator.',
  },
  invalid_arguments: {
    category: 'validation',
    retryable: false,
    meaning: 'The request or the arguments do not fit their schema; `message` names the field.',
  },
  permission_denied: {
    category: 'auth',
    retryable: false,
    meaning: 'The role may not call this tool, or not ask for this `op`.',
  },
  quota_exceeded: {
    category: 'transient',
    retryable: true,
    meaning: 'A queue, a rate or a budget is used up; `retry_after_seconds` tells when to try again.',
  },
  storage_full: {
    category: 'transient',
    retryable: true,
    meaning: 'The broker’s store or a disk is full, so that the call was not made.',
  },
  network_blocked: {
    category: 'permanent',
    retryable: false,
    meaning: 'The tool may not reach this address.',
  },
  mcp_server_unreachable: {
    category: 'transient',
    retryable: true,
    meaning: 'The server of the tool is not up.',
  },
  outcome_unknown: {
    category: 'permanent',
    retryable: false,
    meaning: 'The call was sent and its end is not known; it is not made again.',
  },
  approval_denied: {
    category: 'permanent',
    retryable: false,
    meaning: 'A person decided that the call is not made; `message` says why.',
  },
  approval_expired: {
    category: 'transient',
    retryable: true,
    meaning: 'Nobody decided on the call before its deadline, so that it was not made.',
  },
  approval_superseded: {
    category: 'transient',
    retryable: true,
    meaning:
      'The tool or the rules changed while the call waited for a decision, so that it was not made. A new call asks anew.',
  },
  definition_changed: {
    category: 'permanent',
    retryable: false,
    meaning:
      'The server has changed the definition of the tool or prompt, or it is new, and nobody has accepted that yet. The call was not made.',
  },
  held: {
    category: 'transient',
    retryable: true,
    meaning:
      'An operator holds the agent, its role or the tool, and the deadline passed before the release; `message` says who does, since when and why. The call was not made.',
  },
  no_turn: {
    category: 'permanent',
    retryable: false,
    meaning:
      'The agent is served, and works on no message now. The call was not made. Its next turn may make calls again.',
  },
  cancelled: { category: 'permanent', retryable: false, meaning: 'The caller cancelled it.' },
  result_too_large: {
    category: 'permanent',
    retryable: false,
    meaning: 'The result exceeds the size or the depth of a reply.',
  },
  manifest_moved: {
    category: 'transient',
    retryable: true,
    meaning: 'The list has changed since its first page was read; read it again from the start.',
  },
  internal: {
    category: 'permanent',
    retryable: false,
    meaning: 'The orchestrator could not make the call or pass on its result.',
  },
  unknown: {
    category: 'permanent',
    retryable: false,
    meaning: 'The reader does not know the code that it was sent.',
  },
} as const;

/** A code of a failed tool call. */
export type ToolErrorCode = keyof typeof toolErrorCodes;
