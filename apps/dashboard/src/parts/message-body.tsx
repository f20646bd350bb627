import { bodyTextOf } from '@signalbox/protocol/body-text';
import { visible } from '@signalbox/protocol/visible-text';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { JsonValue, mediaText } from './json-value.tsx';
import { type Inline, type Block as MarkdownBlock, readMarkdown } from './markdown.ts';
import { counted } from './numbers.ts';
import { readableJson } from './readable-json.ts';
import { Block, Text } from './text.tsx';

/** The length from which a text is folded, in characters. */
const foldedLength = 4000;

/**
 * Shows the body of a message as what it is: a text, Markdown or JSON, with images by their type and size. Nothing in it can act but a link
 * that somebody clicks.
 */
export function MessageBody({ of }: { of: string }) {
  const value = readableJson(of);
  const said = bodyTextOf(value ?? of);
  return (
    <>
      {said && <SaidText key={of}>{said.text}</SaidText>}
      {!said?.isWhole && <JsonValue text={of} label="Body" isFolded />}
    </>
  );
}

function SaidText({ children: text }: { children: string }) {
  const [isWhole, setWhole] = useState(text.length <= foldedLength);
  const [isWritten, setWritten] = useState(false);
  const shown = isWhole ? text : text.slice(0, foldedLength);
  const blocks = readMarkdown(shown);
  return (
    <>
      {blocks && !isWritten ? (
        <div class="markdown">
          <Blocks of={blocks} />
        </div>
      ) : (
        <Block label="Body">{shown}</Block>
      )}
      <p class="body-actions">
        {blocks && (
          <button type="button" class="button plain" onClick={() => setWritten(!isWritten)}>
            {isWritten ? 'Formatted' : 'As written'}
          </button>
        )}
        {!isWhole && (
          <button type="button" class="button plain" onClick={() => setWhole(true)}>
            Show all of {counted(text.length, 'character')}
          </button>
        )}
      </p>
    </>
  );
}

function Blocks({ of }: { of: readonly MarkdownBlock[] }) {
  return (
    <>
      {of.map((block, n) => (
        <OneBlock key={n} of={block} />
      ))}
    </>
  );
}

function OneBlock({ of }: { of: MarkdownBlock }): ComponentChildren {
  switch (of.is) {
    case 'heading':
      return (
        <p class="heading">
          <Inlines of={of.of} />
        </p>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines of={of.of} />
        </p>
      );
    case 'code':
      return <Block label="Code">{of.text}</Block>;
    case 'rule':
      return <hr />;
    case 'quote':
      return (
        <blockquote>
          <Blocks of={of.of} />
        </blockquote>
      );
    case 'list': {
      const items = of.items.map((item, n) => (
        <li key={n}>
          <Blocks of={item} />
        </li>
      ));
      return of.start === undefined ? <ul>{items}</ul> : <ol start={of.start}>{items}</ol>;
    }
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reached by keyboard.
        <section class="markdown-table" aria-label="Table" tabIndex={0}>
          <table>
            <tbody>
              {of.rows.map((row, n) => (
                <tr key={n}>
                  {row.map((cell, at) => (
                    <td key={at}>
                      <Inlines of={cell} />
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      );
  }
}

function Inlines({ of }: { of: readonly Inline[] }) {
  return (
    <>
      {of.map((part, n) => (
        <OneInline key={n} of={part} />
      ))}
    </>
  );
}

function OneInline({ of }: { of: Inline }): ComponentChildren {
  switch (of.is) {
    case 'text':
      return <bdi class="lines">{visible(of.text)}</bdi>;
    case 'code':
      return (
        <code>
          <Text>{of.text}</Text>
        </code>
      );
    case 'strong':
      return (
        <strong>
          <Inlines of={of.of} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <Inlines of={of.of} />
        </em>
      );
    case 'link':
      // The address stands beside the label, because a label may name another one.
      return (
        <>
          <Inlines of={of.of} />{' '}
          <a href={of.href} target="_blank" rel="noopener noreferrer">
            <Text>{of.href}</Text>
          </a>
        </>
      );
    case 'image':
      return (
        <span class="quiet">
          [image <Text>{of.text}</Text>: <Text>{mediaText(of.address) ?? of.address}</Text>]
        </span>
      );
  }
}
