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

/** Shows a name or an id, which is cut if it does not fit. */
export function Name({ children }: { children: string }) {
  return (
    <span class="name" title={visibleLine(children)}>
      <Text>{children}</Text>
    </span>
  );
}
