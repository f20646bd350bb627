import type { Approval } from '@signalbox/protocol';
import { toolLabel } from '@signalbox/protocol/tool-label';
import { useState } from 'preact/hooks';
import { hrefOf } from '../../model/route.ts';
import { canDecide } from '../../model/sign-in.ts';
import { StateMark } from '../../parts/state-mark.tsx';
import { Decide, type Verdict } from './decide.tsx';
import { ApprovalGist } from './waiting.tsx';

/** Shows a waiting call among other things that need a person. The person decides here if all of it can be shown. */
export function AskingItem({ of }: { of: Approval }) {
  const [verdict, setVerdict] = useState<Verdict>();
  const isWhole = of.arguments !== undefined && !of.arguments_cut;
  return (
    <li class="asking-item">
      <StateMark tone="bad">{''}</StateMark>
      <div class="gist">
        <ApprovalGist of={of} />
      </div>
      <div class="do">
        {isWhole && canDecide.value && <Decide of={of} verdict={verdict} onVerdict={setVerdict} />}
        {verdict === undefined && (
          <a
            class={isWhole || !canDecide.value ? 'button plain' : 'button strong'}
            href={hrefOf('approvals', { id: of.id })}
            aria-label={`Review ${toolLabel(of)} of ${of.agent}`}
          >
            Review
          </a>
        )}
      </div>
    </li>
  );
}
