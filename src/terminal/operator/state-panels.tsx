import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Audit } from "../../client/types.ts";
import { clock, countdown, fixed, usd, words } from "../text/format.ts";
import { refusalText } from "../text/refusals.ts";
import type { Reading } from "./metrics.ts";
import { audit, client, figuresFreshness, health, reading } from "./session.ts";
import { texts } from "./texts.ts";

/** Whether the exchange works, and whether its sums agree. */

const Pairs = (props: { rows: readonly (readonly [name: string, value: ComponentChildren, tone?: string])[] }) => (
  <dl class="pairs">
    {props.rows.map(([name, value, tone]) => (
      <div>
        <dt>{name}</dt>
        <dd class={`num ${tone ?? ""}`}>{value}</dd>
      </div>
    ))}
  </dl>
);

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const count = (value: number | null | undefined): string => (value == null ? texts.none : fixed(value, 0));
const badIf = (isBad: boolean): string => (isBad ? "down" : "");

function diskText(now: Reading | null): string {
  if (now === null || now.hasDiskRoom === null) return texts.none;
  const free = now.diskFreeBytes === null ? "" : texts.free(`${fixed(now.diskFreeBytes / GIB, 1)} GiB`);
  return now.hasDiskRoom ? free || texts.diskRoom : [texts.diskFull, free].filter(Boolean).join(". ");
}

export function HealthPanel() {
  const state = health.value;
  const now = reading.value;
  const isOk = state?.status === "OK";
  const isStale = figuresFreshness.value.staleReason !== null;
  return (
    <section class="panel" aria-label={texts.health}>
      <div class="panel-head">
        <h2>{texts.health}</h2>
        {state !== null && (
          <strong class={isStale ? "state warn" : isOk ? "state up" : "state down"}>
            {isStale ? texts.stale : isOk ? texts.ok : words(state.status)}
          </strong>
        )}
      </div>
      {state !== null && (
        <>
          {state.problems.length === 0 ? (
            <p class="lead muted">{isStale ? texts.notKnown : texts.noProblems}</p>
          ) : (
            <ul class="problems">
              {state.problems.map(({ code, concerns, message }) => (
                <li>
                  <strong>
                    {words(code)} · {concerns}
                  </strong>{" "}
                  {message}
                </li>
              ))}
            </ul>
          )}
          <Pairs
            rows={[
              [texts.disk, diskText(now), badIf(now?.hasDiskRoom === false)],
              [texts.withdrawals, state.solvent ? texts.open : texts.gated, badIf(!state.solvent)],
              [texts.rebuilds, count(state.rebuilds), badIf(state.rebuilds > 0)],
              [texts.historyLag, now?.historyLag == null ? texts.none : texts.transactions(count(now.historyLag))],
              [texts.logLinesDropped, count(now?.logLinesDropped), badIf((now?.logLinesDropped ?? 0) > 0)],
              [texts.memory, now?.memoryBytes == null ? texts.none : `${count(now.memoryBytes / MIB)} MiB`],
              [texts.uptime, countdown(state.uptimeMs)],
            ]}
          />
        </>
      )}
    </section>
  );
}

export function AuditPanel() {
  const isRunning = useSignal(false);
  const fault = useSignal<string | null>(null);
  const run = async (): Promise<void> => {
    const from = client.peek();
    if (from === null || isRunning.peek()) return;
    isRunning.value = true;
    try {
      const report = await from.audit();
      audit.value = { at: Date.now(), report };
      fault.value = null;
    } catch (error) {
      fault.value = refusalText(error);
    }
    isRunning.value = false;
  };
  const done = audit.value;
  return (
    <section class="panel" aria-label={texts.audit}>
      <div class="panel-head">
        <h2>{texts.audit}</h2>
        {done !== null && <Verdict report={done.report} />}
        <button type="button" class="mini end" disabled={isRunning.value} onClick={run}>
          {isRunning.value ? texts.running : texts.runAudit}
        </button>
      </div>
      <p role="alert" class={fault.value === null ? "hidden" : "lead down"}>
        {fault.value}
      </p>
      {done === null ? <p class="lead muted">{texts.noAudit}</p> : <Figures at={done.at} report={done.report} />}
    </section>
  );
}

const Verdict = ({ report: { balanced, solvent } }: { report: Audit }) => (
  <>
    <strong class={balanced ? "state up" : "state down"}>{balanced ? texts.balanced : texts.notBalanced}</strong>
    <strong class={solvent ? "state up" : "state down"}>{solvent ? texts.solvent : texts.notSolvent}</strong>
  </>
);

function Figures({ at, report }: { at: number; report: Audit }) {
  const { money, depositsMinusWithdrawals, solvency, accounts, symbols, faults, sequence } = report;
  const sum = (key: "openOrders" | "positions"): string => count(symbols.reduce((total, each) => total + each[key], 0));
  const unequal = symbols.filter(({ size }) => Number(size) !== 0);
  return (
    <>
      {faults.length + unequal.length > 0 && (
        <ul class="problems">
          {unequal.map(({ symbol, size }) => (
            <li>
              <strong>{symbol}</strong> {texts.sumOfPositions}: {size}
            </li>
          ))}
          {faults.map((fault) => (
            <li>{fault}</li>
          ))}
        </ul>
      )}
      <Pairs
        rows={[
          [texts.auditedAt, `${clock(at)} · ${sequence}`],
          [texts.money, usd(money)],
          [texts.deposits, usd(depositsMinusWithdrawals), badIf(money !== depositsMinusWithdrawals)],
          [texts.fundEquity, usd(solvency.fundEquity)],
          [texts.fundNotional, usd(solvency.fundNotional)],
          [texts.deficit, usd(solvency.deficit), badIf(Number(solvency.deficit) > 0)],
          [texts.accounts, count(accounts)],
          [texts.ordersAndPositions, `${sum("openOrders")} / ${sum("positions")}`],
        ]}
      />
    </>
  );
}
