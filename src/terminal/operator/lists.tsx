import type { ComponentChildren } from "preact";
import type { Insurance, PublicTrade } from "../../client/types.ts";
import { type ChartData, type Line, LineChart } from "../plots/line-chart.tsx";
import { type Column, Table } from "../tables/table.tsx";
import { dayAndClock, signed, tone, usd, words } from "../text/format.ts";
import { columns, sampleCount, times } from "./samples.ts";
import {
  type ActKind,
  actKind,
  acts,
  chooseActs,
  insurance,
  liquidations,
  listsFreshness,
  type OperatorAct,
} from "./session.ts";
import { texts } from "./texts.ts";

/** The recent past: rates as charts, the insurance fund, liquidations, and what operators did. */

function Panel(props: { name: string; class?: string; head?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.name}>
      <div class="panel-head">
        <h2>{props.name}</h2>
        {props.head}
      </div>
      {props.children}
    </section>
  );
}

/** A list with a scroll bar of its own. The keyboard reaches it, too. */
const Scroll = (props: { name: string; children: ComponentChildren }) => (
  <div class="table-body list" role="group" tabIndex={0} aria-label={props.name}>
    {props.children}
  </div>
);

/** The text of an empty list. `isRead`: it is known to be empty. */
const emptyText = (isRead: boolean, none: string): string =>
  isRead ? none : listsFreshness.value.staleReason === null ? texts.reading : texts.notRead;

type Figure = keyof typeof columns;

const CHARTS: readonly { title: string; lines: readonly (Line & { figure: Figure })[] }[] = [
  {
    title: texts.rate,
    lines: [{ figure: "rate", name: texts.rate, color: "accent", decimals: 0, unit: texts.perSecond }],
  },
  {
    title: texts.latency,
    lines: [
      { figure: "roundTripMs", name: texts.roundTrip, color: "accent", decimals: 1, unit: " ms" },
      { figure: "loopP99Ms", name: texts.loopP99, color: "warn", decimals: 1, unit: " ms" },
    ],
  },
  {
    title: texts.waiting,
    lines: [{ figure: "inFlight", name: texts.inFlight, color: "accent", decimals: 0, unit: "" }],
  },
  {
    title: texts.cpu,
    lines: [{ figure: "cpuPercent", name: texts.cpu, color: "accent", decimals: 0, unit: " %" }],
  },
];

export function Rates() {
  return (
    <Panel name={texts.rates} class="rates">
      <div class="charts">
        {CHARTS.map(({ title, lines }) => (
          <LineChart
            title={title}
            lines={lines}
            isFromZero
            read={() => ({
              times: sampleCount.value < 0 ? [] : times,
              values: lines.map((line) => columns[line.figure]),
            })}
          />
        ))}
      </div>
    </Panel>
  );
}

const MONEY: Line = { name: texts.fundChart, color: "accent", decimals: 2, unit: " USDC" };

/** The fund's money after each movement, oldest first, and now. */
function fundHistory(fund: Insurance): ChartData {
  const times: number[] = [];
  const values: number[] = [];
  let money = Number(fund.balance) - Number(fund.unrealizedPnl);
  for (const { time, amount } of fund.data) {
    if (times[0] === time / 1000) money -= Number(amount);
    else {
      times.unshift(time / 1000);
      values.unshift(money);
      money -= Number(amount);
    }
  }
  const last = values.at(-1);
  return last === undefined
    ? { times, values: [values] }
    : { times: [...times, Date.now() / 1000], values: [[...values, last]] };
}

const MOVEMENTS: readonly Column<Insurance["data"][number]>[] = [
  { title: texts.time, cell: ({ time }) => dayAndClock(time) },
  { title: texts.kind, cell: ({ kind }) => words(kind) },
  { title: texts.symbol, cell: ({ symbol }) => symbol ?? texts.none },
  { title: texts.amount, isNumber: true, cell: ({ amount }) => <span class={tone(amount)}>{signed(amount, 4)}</span> },
];

export function Fund() {
  const fund = insurance.value;
  return (
    <Panel
      name={texts.fund}
      class="later"
      head={fund !== null && <strong class="num end">{`${usd(fund.balance)} ${fund.asset}`}</strong>}
    >
      {fund !== null && fund.data.length > 0 && (
        <div class="charts">
          <LineChart
            title={texts.fundChart}
            lines={[MONEY]}
            isStepped
            read={() => (insurance.value === null ? { times: [], values: [[]] } : fundHistory(insurance.value))}
          />
        </div>
      )}
      <Scroll name={texts.fundMovements}>
        <Table
          caption={texts.fundMovements}
          columns={MOVEMENTS}
          rows={fund?.data ?? []}
          keyOf={({ sequence, kind, symbol }) => `${sequence}${kind}${symbol}`}
          empty={emptyText(fund !== null, texts.noMovements)}
        />
      </Scroll>
    </Panel>
  );
}

const LIQUIDATIONS: readonly Column<PublicTrade>[] = [
  { title: texts.time, cell: ({ time }) => dayAndClock(time) },
  { title: texts.symbol, cell: ({ symbol }) => symbol },
  { title: texts.side, cell: ({ side }) => <span class={side === "BUY" ? "up" : "down"}>{words(side)}</span> },
  { title: texts.price, isNumber: true, cell: ({ price }) => price },
  { title: texts.quantity, isNumber: true, cell: ({ quantity }) => quantity },
  { title: texts.type, cell: ({ execType }) => words(execType) },
];

export function Liquidations() {
  return (
    <Panel name={texts.liquidations} class="later">
      <Scroll name={texts.liquidations}>
        <Table
          caption={texts.liquidations}
          columns={LIQUIDATIONS}
          rows={liquidations.value ?? []}
          keyOf={({ symbol, tradeId }) => symbol + tradeId}
          empty={emptyText(liquidations.value !== null, texts.noLiquidations)}
        />
      </Scroll>
    </Panel>
  );
}

const ACTS: readonly Column<OperatorAct>[] = [
  { title: texts.time, cell: ({ time }) => dayAndClock(time) },
  { title: texts.who, cell: ({ operator }) => operator },
  { title: texts.act, cell: ({ act }) => words(act) },
  { title: texts.symbol, cell: ({ symbol }) => symbol },
  {
    title: texts.detail,
    isNumber: true,
    cell: ({ mode, price }) => price ?? (mode === null ? texts.none : words(mode)),
  },
];

const KINDS: readonly ActKind[] = ["SYMBOL_STATUS", "INDEX_PRICE"];

export function Acts() {
  return (
    <Panel
      name={texts.acts}
      class="later"
      head={
        <span class="row-actions end">
          {KINDS.map((kind) => (
            <button type="button" class="mini" aria-pressed={actKind.value === kind} onClick={() => chooseActs(kind)}>
              {texts.actKinds[kind]}
            </button>
          ))}
        </span>
      }
    >
      <Scroll name={texts.acts}>
        <Table
          caption={texts.acts}
          columns={ACTS}
          rows={acts.value ?? []}
          keyOf={({ sequence, symbol }) => `${sequence}${symbol}`}
          empty={emptyText(acts.value !== null, texts.noActs)}
        />
      </Scroll>
    </Panel>
  );
}
