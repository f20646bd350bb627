/** The points that the demo proves, in this order. `--break` names one of them. */
export const demoPoints = ['manifest', 'refusal', 'overlap', 'ask', 'recovery', 'serve'] as const;
/** The name of a point that the demo proves. */
export type DemoPoint = (typeof demoPoints)[number];
