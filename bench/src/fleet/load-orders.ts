import { serveParent } from '../processes.ts';
import { type LoadWorker, type SteadyLoad, startLoad } from './steady-load.ts';

/** An order to a process that makes steady load. `stop` answers with `LoadFigures`. */
export type LoadOrder = { op: 'start'; heeds: boolean } | { op: 'mark' } | { op: 'stop' };

/** Carries out the parent's orders in a process that makes load. */
export function serveLoad(workers: readonly LoadWorker[], stop: () => Promise<unknown>): void {
  let load: SteadyLoad | undefined;
  serveParent({
    obey: async (asked) => {
      const order = asked as LoadOrder;
      if (order.op === 'start') load = startLoad(workers, order);
      else if (order.op === 'mark') load!.mark();
      else return await load!.stop();
    },
    stop,
  });
}
