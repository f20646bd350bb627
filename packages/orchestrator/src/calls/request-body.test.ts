import { expect, test } from 'vitest';
import { parseRequest } from './request-body.ts';

test.each([
  [{ op: 'manifest' }],
  [{ op: 'call', tool: 'x', arguments: '{}', options: { timeout_ms: 5 } }],
  [
    {
      op: 'call',
      tool: 'x',
      arguments: { a: 1 },
      options: { progress: true },
      round: { client_capabilities: {} },
    },
  ],
  [
    {
      op: 'call',
      tool: 'x',
      round: { client_capabilities: { sampling: {} }, input_responses: { a: 1 }, request_state: 's' },
    },
  ],
])('the body %j is read', (body) => {
  expect(parseRequest(body).request).toEqual(body);
});

test.each([
  [undefined, "field 'body'"],
  ['text', "field 'body'"],
  [
    {},
    "field 'op': must be one of manifest, call, request, ask_permission, note_permission, subscriptions, page_tool, status, task, cancel_task, update_task, own_calls, search, calls,",
  ],
  [
    { op: 'dance' },
    "field 'op': must be one of manifest, call, request, ask_permission, note_permission, subscriptions, page_tool, status, task, cancel_task, update_task, own_calls, search, calls,",
  ],
  [{ op: 'call' }, "field 'tool'"],
  [{ op: 'call', tool: 'x'.repeat(257) }, "field 'tool'"],
  [{ op: 'call', tool: 'x', options: { progress: 1 } }, "field 'options.progress'"],
  [{ op: 'call', tool: 'x', round: { client_capabilities: [] } }, "field 'round.client_capabilities'"],
  [{ op: 'ask_permission', cli: 'claude', tool: 'Bash\u202e' }, "field 'tool'"],
  [{ op: 'ask_permission', cli: 'my cli', tool: 'Bash' }, "field 'cli'"],
  [{ op: 'reload' }, "field 'server'"],
  [{ op: 'explain', role: 'r' }, "field 'tool'"],
  [{ op: 'search', query: '' }, "field 'query'"],
  [{ op: 'search', query: 'x', limit: 51 }, "field 'limit'"],
  [{ op: 'call', tool: 'x', options: { timeout_ms: -1 } }, "field 'options.timeout_ms'"],
  [{ op: 'call', tool: 'x', round: { request_state: 's'.repeat(262_145) } }, "field 'round.request_state'"],
  [
    {
      op: 'call',
      tool: 'x',
      round: { input_responses: Object.fromEntries([...Array(65).keys()].entries()) },
    },
    "field 'round.input_responses': must have at most 64 entries",
  ],
])('the body %j is refused, naming what is wrong', (body, reason) => {
  expect(parseRequest(body).refusal).toMatchObject({ code: 'invalid_arguments', may_have_run: false });
  expect(parseRequest(body).refusal?.message).toContain(reason);
});
