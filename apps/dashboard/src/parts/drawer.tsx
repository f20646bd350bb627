import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Text } from './text.tsx';

/** Shows the details of one thing beside the list. Escape closes it; then the row of the thing has the focus again. */
export function Drawer({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [title]);
  const close = (): void => {
    const row = (which: string) => document.querySelector<HTMLElement>(`.table tr${which}`);
    (row('.selected') ?? row('[tabindex="0"]'))?.focus();
    onClose();
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape') close();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [onClose]);
  return (
    <aside class="drawer" aria-label="Details">
      <header>
        <h2 ref={heading} tabIndex={-1}>
          <Text>{title}</Text>
        </h2>
        <button type="button" class="button plain" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </aside>
  );
}

/** Shows facts as names and values. Values that are `undefined` are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
