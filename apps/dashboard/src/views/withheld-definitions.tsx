import type { DefinitionDifference, DefinitionReport } from '@signalbox/protocol';
import { Block, Text } from '../parts/text.tsx';

/** The number of definitions that are open from the start. */
const openAtFirst = 3;

/** Definitions that are withheld, each with what differs from what is pinned. Of many, a click opens one. */
export function WithheldDefinitions({ definitions }: { definitions: readonly DefinitionReport[] }) {
  return (
    <div class="withheld">
      {definitions.map(({ kind, name, state, differences, more_differences: more }) => (
        <details key={`${kind} ${name}`} open={definitions.length <= openAtFirst}>
          <summary>
            <Text>{`${kind === 'instructions' ? kind : `${kind} ${name}`}: ${state}`}</Text>
          </summary>
          {differences?.map((difference) => (
            <Difference key={difference.path} of={difference} />
          ))}
          {differences === undefined && <p>There is too much to show it here.</p>}
          {more !== undefined && <p>{`and ${more} more differences`}</p>}
        </details>
      ))}
    </div>
  );
}

function Difference({ of: { what, before, after, cut } }: { of: DefinitionDifference }) {
  const isUnseen = before !== undefined && before === after && !cut;
  const heading = isUnseen ? `${what}, only in how characters are written that nobody sees` : what;
  return (
    <div>
      <Text>{heading}</Text>
      {before !== undefined && !isUnseen && <Block label={`${what} before`}>{`- ${before}`}</Block>}
      {after !== undefined && <Block label={`${what} now`}>{`+ ${after}`}</Block>}
    </div>
  );
}
