import { visible } from '@signalbox/protocol/visible-text';
import type { ComponentChildren } from 'preact';
import { bytes, counted } from './numbers.ts';
import { readableJson } from './readable-json.ts';

/**
 * Shows the JSON text of somebody else with one value on a line; `isFolded` opens only its first level, and shows images by type and size. A text with several lines is in its own box, so that none of it can be
 * mistaken for another value, and invisible characters are shown as escapes.
 */
export function JsonValue({
  text,
  label,
  isFolded = false,
}: {
  text: string;
  label: string;
  isFolded?: boolean;
}) {
  const value = readableJson(text);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reached by keyboard.
    <section class="block json" aria-label={label} tabIndex={0}>
      {value === undefined ? (
        <bdi>{visible(text)}</bdi>
      ) : (
        <Value of={value} fold={isFolded ? 'inner' : 'none'} />
      )}
    </section>
  );
}

/** The levels that are folded. */
type Fold = 'none' | 'inner' | 'all';

function Value({ of, fold }: { of: unknown; fold: Fold }): ComponentChildren {
  const media = fold === 'none' ? undefined : mediaText(of);
  if (media !== undefined) return <span class="plain">[{media}]</span>;
  if (typeof of === 'string') return <TextValue of={of} />;
  if (of === null || typeof of !== 'object') return <span class="plain">{String(of)}</span>;
  const entries = Object.entries(of);
  const [open, close] = Array.isArray(of) ? '[]' : '{}';
  if (entries.length === 0) return `${open}${close}`;
  const inner = (
    <div class="inner">
      {entries.map(([name, value]) => (
        <div key={name}>
          {!Array.isArray(of) && (
            <>
              <bdi class="key">{visible(JSON.stringify(name))}</bdi>
              {': '}
            </>
          )}
          <Value of={value} fold={fold === 'none' ? 'none' : 'all'} />
        </div>
      ))}
    </div>
  );
  if (fold === 'all')
    return (
      <details>
        <summary>
          {open} {counted(entries.length, 'value')} {close}
        </summary>
        {inner}
      </details>
    );
  return (
    <>
      {open}
      {inner}
      {close}
    </>
  );
}

/** Describes an image, a sound or a file that stands in JSON, as MCP writes it, or in an address. */
export function mediaText(value: unknown): string | undefined {
  if (typeof value === 'string') {
    const [head = '', type = 'data'] = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,100},/.exec(value) ?? [];
    return head === '' ? undefined : `${type}, ${bytes(bytesOf(value.length - head.length))}`;
  }
  const { type, data, mimeType } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof data !== 'string' || typeof mimeType !== 'string' || typeof type !== 'string') return undefined;
  return `${visible(mimeType)}, ${bytes(bytesOf(data.length))}`;
}

/** Returns about how many bytes a text in base64 stands for. */
function bytesOf(letters: number): number {
  return Math.floor((letters * 3) / 4);
}

function TextValue({ of }: { of: string }) {
  if (!of.includes('\n')) return <bdi class="text">{visible(JSON.stringify(of))}</bdi>;
  return (
    <div class="lines">
      <bdi class="text">{visible(of)}</bdi>
    </div>
  );
}
