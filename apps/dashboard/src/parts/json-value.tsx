import { visible } from '@signalbox/protocol/visible-text';
import type { ComponentChildren } from 'preact';
import { readableJson } from './readable-json.ts';

/**
 * Shows the JSON text of somebody else with one value on a line. A text with several lines is in its own box, so that none of it can be
 * mistaken for another value, and invisible characters are shown as escapes.
 */
export function JsonValue({ text, label }: { text: string; label: string }) {
  const value = readableJson(text);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reached by keyboard.
    <section class="block json" aria-label={label} tabIndex={0}>
      {value === undefined ? <bdi>{visible(text)}</bdi> : <Value of={value} />}
    </section>
  );
}

function Value({ of }: { of: unknown }): ComponentChildren {
  if (typeof of === 'string') return <TextValue of={of} />;
  if (of === null || typeof of !== 'object') return <span class="plain">{String(of)}</span>;
  const entries = Object.entries(of);
  const [open, close] = Array.isArray(of) ? '[]' : '{}';
  if (entries.length === 0) return `${open}${close}`;
  return (
    <>
      {open}
      <div class="inner">
        {entries.map(([name, value]) => (
          <div key={name}>
            {!Array.isArray(of) && (
              <>
                <bdi class="key">{visible(JSON.stringify(name))}</bdi>
                {': '}
              </>
            )}
            <Value of={value} />
          </div>
        ))}
      </div>
      {close}
    </>
  );
}

function TextValue({ of }: { of: string }) {
  if (!of.includes('\n')) return <bdi class="text">{visible(JSON.stringify(of))}</bdi>;
  return (
    <div class="lines">
      <bdi class="text">{visible(of)}</bdi>
    </div>
  );
}
