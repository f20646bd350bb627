import { useRef, useState } from 'preact/hooks';

/** Shows a text with a button that copies it. If the browser does not let the page copy, the text is selected. */
export function CopyText({ label, children }: { label: string; children: string }) {
  const text = useRef<HTMLElement>(null);
  const [state, setState] = useState<'idle' | 'copied' | 'selected'>('idle');
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(children);
      setState('copied');
    } catch {
      getSelection()?.selectAllChildren(text.current!);
      setState('selected');
    }
  };
  const said = { idle: '', copied: 'Copied', selected: 'It is selected: copy it by keyboard' };
  return (
    <div class="copy">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reached by keyboard. */}
      <section class="block" aria-label={label} tabIndex={0}>
        <code ref={text}>{children}</code>
      </section>
      <button type="button" class="button" onClick={() => void copy()}>
        Copy
      </button>
      <span class="quiet" role="status">
        {said[state]}
      </span>
    </div>
  );
}
