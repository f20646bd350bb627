/** The tone of a state, good or bad. Each tone has its own shape, so that nobody needs to see its colour. */
export type Tone = 'good' | 'busy' | 'quiet' | 'soon' | 'bad';

const forms: Readonly<Record<Tone, string>> = {
  good: 'M2 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0',
  busy: 'M3 2l7 4-7 4z',
  quiet: 'M2.8 6a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0M4 6a2 2 0 1 1 4 0a2 2 0 1 1-4 0',
  soon: 'M6 1l5 5-5 5-5-5z',
  bad: 'M6 1l5.5 10H.5z',
};

/** Shows a state: a shape and a word. */
export function StateMark({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span class={`mark ${tone}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        <path d={forms[tone]} fill-rule="evenodd" />
      </svg>
      <span>{children}</span>
    </span>
  );
}
