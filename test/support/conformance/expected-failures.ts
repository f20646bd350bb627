import type { ExpectedFailure } from './judgement.ts';
import { directWay, relayedWays } from './ways.ts';

const specification = 'https://modelcontextprotocol.io/specification';
const tasks = 'https://modelcontextprotocol.io/seps/2663-tasks-extension';
const olderUpstream = ['http 2025', 'stdio 2025'] as const;

const ownNames = {
  revision: '2026-07-28',
  ways: olderUpstream,
  reason:
    'The server chooses the names of its questions, and a question of 2025-11-25 has none. The orchestrator names it, and the suite looks for ' +
    'the names that its reference server would choose.',
  specification: `${specification}/draft/basic/utilities/mrtr`,
} as const;

/** The reference server asks by requests in these scenarios, which it can only do in a session of an older revision. */
const askingByRequests = {
  revision: '2025-11-25',
  ways: ['stdio 2026'],
  reason:
    'A process speaks one revision, and there is one process for all clients. With `protocol: auto` it speaks the current one, in which a ' +
    'server sends no requests. Without it, a server over stdio is asked in the older revision, and these checks pass.',
  specification: `${specification}/2025-11-25/basic/lifecycle#version-negotiation`,
} as const;

/** The scenarios of the extension for tasks whose calls must become tasks. */
const shortTasks = [
  'tasks-capability-negotiation:*',
  'tasks-dispatch-and-envelope:*',
  'tasks-lifecycle:*',
  'tasks-mrtr-composition:*',
  'tasks-mrtr-input:*',
  'tasks-request-headers:*',
  'tasks-request-state-removal:*',
  'tasks-wire-fields:*',
].map(
  (check): ExpectedFailure => ({
    revision: '2026-07-28',
    ways: relayedWays,
    check,
    reason:
      'The server decides which calls become tasks. The face makes one of an ordinary call only after 45 s, since agent CLIs let a model go on ' +
      'without the result of a task, and the calls of the suite are shorter. Our own tests of tasks use a shorter time.',
    specification: tasks,
  }),
);

/** The checks of the official suite that fail on some way, each with the words of the specification about it. */
export const expectedFailures: readonly ExpectedFailure[] = [
  {
    revision: '2025-11-25',
    ways: ['stdio 2026'],
    check: 'server-sse-polling:*',
    reason:
      'A server answers a posted request with a stream or with one JSON object, as it likes. The face answers with JSON unless it has something ' +
      'to send first. The tool writes to the log, which in the current revision reaches only clients that have asked for it.',
    specification: `${specification}/2025-11-25/basic/transports#sending-messages-to-the-server`,
  },
  { ...askingByRequests, check: 'elicitation-sep1034-defaults:*' },
  { ...askingByRequests, check: 'elicitation-sep1330-enums:*' },
  { ...askingByRequests, check: 'tools-call-elicitation:*' },
  { ...askingByRequests, check: 'tools-call-sampling:*' },
  { ...ownNames, check: 'input-required-result-basic-elicitation:*' },
  { ...ownNames, check: 'input-required-result-multiple-input-requests:*' },
  { ...ownNames, check: 'input-required-result-non-tool-request:*' },
  { ...ownNames, check: 'input-required-result-ignore-extra-params:*' },
  {
    revision: '2026-07-28',
    ways: olderUpstream,
    check: 'input-required-result-basic-list-roots:*',
    reason:
      'A server asks only for what its client has declared. Roots are declared only to instances of one agent whose configuration allows it.',
    specification: `${specification}/2025-11-25/basic/lifecycle#capability-negotiation`,
  },
  {
    revision: '2026-07-28',
    ways: olderUpstream,
    check: 'input-required-result-tampered-state:*',
    reason:
      'A state that no call waits under may belong to one that ran and was lost with its server. It is refused as a failed result, which says ' +
      'so; the suite looks for a JSON-RPC error.',
    specification: `${specification}/draft/basic/utilities/mrtr`,
  },
  {
    revision: '2026-07-28',
    ways: olderUpstream,
    check: 'server-stateless:*',
    reason:
      'The error for a capability that a client lacks came with 2026-07-28; a server of 2025-11-25 cannot give it.',
    specification: 'https://github.com/modelcontextprotocol/modelcontextprotocol/pull/2575',
  },
  {
    revision: '2026-07-28',
    ways: [directWay],
    check: 'tasks-*',
    reason:
      'Tasks are an extension that no server has to offer, and the suite does not score them. The SDK has no runtime for them yet, ' +
      'so the reference server lists none: the face makes them of its plain tools.',
    specification: tasks,
  },
  {
    revision: '2026-07-28',
    ways: relayedWays,
    check: 'tasks-required-task-error:*',
    reason:
      'A server that cannot serve a call without a task refuses a client that knows none. The face can serve every call without one, and ' +
      'the suite wants one tool refused.',
    specification: `${tasks}#capability-negotiation`,
  },
  ...shortTasks,
];
