import { visible, visibleLine } from '@signalbox/protocol/visible-text';

/** Shows a text of somebody else on one line: invisible characters as escapes, and its direction without effect on the text around it. */
export function Text({ children, class: name }: { children: string; class?: string }) {
  return <bdi class={name}>{visibleLine(children)}</bdi>;
}

/** Shows a text of somebody else with its line breaks. */
export function Block({ children, label }: { children: string; label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reached by keyboard.
    <section class="block" aria-label={label} tabIndex={0}>
      <bdi>{visible(children)}</bdi>
    </section>
  );
}

/** The last characters of a name, which are shown however narrow its place is: names of one kind often differ only there. */
const endLength = 12;

/** Shows a name or an id. If it does not fit, its middle is left out. */
export function Name({ children }: { children: string }) {
  const letters = [...visibleLine(children)];
  const whole = letters.join('');
  if (letters.length <= 2 * endLength) return <Line>{children}</Line>;
  return (
    <span class="name parted" title={whole}>
      <bdi>{letters.slice(0, -endLength).join('')}</bdi>
      <bdi>{letters.slice(-endLength).join('')}</bdi>
    </span>
  );
}

/** Shows a text on one line. If it does not fit, its end is left out. */
export function Line({ children }: { children: string }) {
  return (
    <span class="name" title={visibleLine(children)}>
      <Text>{children}</Text>
    </span>
  );
}
