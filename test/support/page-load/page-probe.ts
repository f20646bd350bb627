import type { CDPSession, Page } from 'playwright-core';

/** The times of one interaction in milliseconds: from an input to the next paint, and until the page shows the requested content. */
export interface Answered {
  /** The longest event of the interaction. The browser rounds shorter events up to 16 ms. */
  paintMs: number;
  /** The time until the requested content is there; absent if the interaction requests none. */
  contentMs?: number;
}

interface Probe {
  entries: { name: string; at: number; ms: number }[];
  longTasks: { at: number; ms: number }[];
}

/** The shortest duration that the browser reports, in milliseconds. */
const shortestMs = 16;

/**
 * Runs in the page before its own scripts. It notes the duration of input events as the browser reports them, and measures the same from
 * event to paint by itself: the browser reports no wheel.
 */
const install = `(() => {
  const probe = { entries: [], longTasks: [] };
  window.__probe = probe;
  new PerformanceObserver((list) => {
    for (const { name, startTime, duration } of list.getEntries()) {
      if (/^(pointer(over|out|enter|leave|move)|mouse(over|out|enter|leave|move))$/.test(name)) continue;
      probe.entries.push({ name, at: startTime, ms: duration });
    }
  }).observe({ type: 'event', durationThreshold: ${shortestMs}, buffered: true });
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) probe.longTasks.push({ at: startTime, ms: duration });
  }).observe({ type: 'longtask', buffered: true });
  const afterPaint = (run) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => { port1.close(); run(); };
    port1.postMessage(0);
  });
  for (const type of ['pointerdown', 'click', 'keydown', 'input', 'wheel'])
    addEventListener(type, ({ timeStamp }) => {
      afterPaint(() => probe.entries.push({ name: type, at: timeStamp, ms: performance.now() - timeStamp }));
    }, { capture: true, passive: true });
})()`;

/** Measures a page. */
export interface PageProbe {
  /** Acts on the page, and returns how long it took. `content` resolves when the page shows the requested content. */
  measure(act: () => Promise<void>, content?: () => Promise<unknown>): Promise<Answered>;
  /** The tasks of the page of more than 50 ms since the last call, in milliseconds. */
  longTasks(): Promise<number[]>;
  /** The bytes of the heap after a garbage collection, and the nodes and listeners of all documents. */
  memory(): Promise<{ heap: number; nodes: number; listeners: number }>;
}

/** Prepares a page that has not been opened yet. */
export async function probePage(page: Page): Promise<PageProbe> {
  await page.addInitScript(install);
  const cdp: CDPSession = await page.context().newCDPSession(page);
  const now = (): Promise<number> => page.evaluate(() => performance.now());
  // Two frames after the last event, the browser has reported it.
  const settle = (): Promise<unknown> =>
    page.evaluate(
      () =>
        new Promise((resolve) =>
          requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 60))),
        ),
    );
  return {
    async measure(act, content) {
      const from = await now();
      await act();
      const isRead = content ? await content().then(now) : undefined;
      await settle();
      const entries = await page.evaluate((since) => {
        const { __probe: probe } = window as unknown as { __probe: Probe };
        const found = probe.entries.filter(({ at }) => at >= since);
        probe.entries.length = 0;
        return found;
      }, from);
      const first = Math.min(...entries.map(({ at }) => at));
      return {
        paintMs: Math.max(shortestMs, ...entries.map(({ ms }) => ms)),
        ...(isRead !== undefined && { contentMs: isRead - first }),
      };
    },
    longTasks: () =>
      page.evaluate(() =>
        (window as unknown as { __probe: Probe }).__probe.longTasks.splice(0).map(({ ms }) => ms),
      ),
    async memory() {
      await cdp.send('HeapProfiler.collectGarbage');
      const { usedSize } = await cdp.send('Runtime.getHeapUsage');
      const { nodes, jsEventListeners } = await cdp.send('Memory.getDOMCounters');
      return { heap: usedSize, nodes, listeners: jsEventListeners };
    },
  };
}
