/** What the demo proves, in its order; `--break` takes one of these. */
export const demoPoints = ['manifest', 'refusal', 'overlap', 'ask', 'recovery'] as const;
export type DemoPoint = (typeof demoPoints)[number];
