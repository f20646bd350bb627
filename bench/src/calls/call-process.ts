import { measure } from '../measure.ts';
import { serveParent, setupOf } from '../processes.ts';
import { type CallWay, openWay } from './call-way.ts';

/** Calls the `echo` tool on one way. */
const way = await openWay(setupOf<CallWay>());
let numbered = 0;
// A cached result would answer for a message that was sent before; none is.
const call = () => way.call(`message ${numbered++}.`);
serveParent({
  obey: (order) => measure(call, order as { lanes: number; seconds: number }),
  stop: async () => way[Symbol.asyncDispose](),
});
