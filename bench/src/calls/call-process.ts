import { measure } from '../measure.ts';
import { serveParent, setupOf } from '../processes.ts';
import { type CallEntry, openEntry } from './call-entry.ts';

/** Calls the `echo` tool, beginning at one entry. */
const entry = await openEntry(setupOf<CallEntry>());
let numbered = 0;
// A cached result would answer for a message that was sent before; none is.
const call = (lane: number) => entry.call(`message ${numbered++}.`, lane);
serveParent({
  obey: (order) => measure(call, order as { lanes: number; seconds: number }),
  stop: async () => entry[Symbol.asyncDispose](),
});
