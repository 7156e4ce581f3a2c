import { computed, effect, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { EquityPoint } from "../../client/types.ts";
import { type Line, LineChart } from "../plots/line-chart.tsx";
import { accountClient, messagesOf, totalEquity } from "../state/account.ts";
import { exchangeNow } from "../state/clock.ts";
import { text } from "../text/catalogue.ts";
import { dayAndClock, signed, tone, usd } from "../text/format.ts";
import { refusalText } from "../text/refusals.ts";
import { download } from "./download.ts";
import { ASKED, EQUITY_RANGES, type EquityRange, largestFall, type Worth, worthOf } from "./equity-data.ts";
import { type Column, Table } from "./table.tsx";

/** Equity and profit of the account over time: as a chart, or as a table for those who cannot see one. */

const VIEWS = ["pnl", "equity", "table"] as const;

const range = signal<EquityRange>("1h");
const view = signal<(typeof VIEWS)[number]>("pnl");
const points = signal<readonly EquityPoint[]>([]);
const fault = signal<string | null>(null);
const isLoading = signal(true);
const nowMs = signal(exchangeNow());
/** The range of the points. */
const asked = signal<EquityRange>("1h");
const rows = computed(() => worthOf(points.value, asked.value, nowMs.value, totalEquity.peek()));

const MOST_POINTS = 1000;
const queryOf = (chosen: EquityRange) => {
  const { interval, spanMs } = ASKED[chosen];
  return { interval, ...(spanMs > 0 && { startTime: exchangeNow() - spanMs }) };
};

async function read(): Promise<void> {
  const client = accountClient.peek();
  const wanted = range.peek();
  if (client === null) return;
  try {
    const { data } = await client.equityHistory({ ...queryOf(wanted), limit: MOST_POINTS });
    if (accountClient.peek() !== client || range.peek() !== wanted) return;
    asked.value = wanted;
    points.value = data;
    fault.value = null;
  } catch (error) {
    fault.value = refusalText(error);
  }
  isLoading.value = false;
}

/** Reads the range at once, after each deposit or withdrawal, and at the end of each interval. The last point follows each second. */
function follow(): () => void {
  const second = setInterval(() => {
    nowMs.value = exchangeNow();
  }, 1000);
  let timer = 0;
  const stop = effect(() => {
    messagesOf("transfers");
    if (accountClient.value === null) return;
    points.value = [];
    isLoading.value = true;
    const { intervalMs } = ASKED[range.value];
    void read();
    clearInterval(timer);
    timer = window.setInterval(() => void read(), intervalMs);
  });
  return () => {
    stop();
    clearInterval(second);
    clearInterval(timer);
  };
}

const LINES: Readonly<Record<"pnl" | "equity", Line>> = {
  pnl: { name: text.equityChart.views.pnl, color: "accent", decimals: 2, unit: " USDC" },
  equity: { name: text.equity, color: "accent", decimals: 2, unit: " USDC" },
};

const COLUMNS: readonly Column<Worth>[] = [
  { title: text.time, cell: ({ timeMs }) => dayAndClock(timeMs) },
  { title: text.equity, isNumber: true, cell: ({ equity }) => usd(equity) },
  {
    title: text.equityChart.views.pnl,
    isNumber: true,
    cell: ({ profit }) => <span class={tone(profit)}>{signed(profit)}</span>,
  },
];

export function Equity() {
  useEffect(follow, []);
  const shown = rows.value;
  return (
    <div class="equity">
      <Tools />
      {shown.length === 0 ? (
        <p class="empty">{fault.value ?? (isLoading.value ? text.loading : text.equityChart.none)}</p>
      ) : view.value === "table" ? (
        <Table
          caption={text.equityChart.title}
          columns={COLUMNS}
          rows={[...shown].reverse()}
          keyOf={({ timeMs }) => String(timeMs)}
          empty=""
        />
      ) : (
        <EquityLine key={view.value} name={view.value} />
      )}
    </div>
  );
}

function EquityLine({ name }: { name: "pnl" | "equity" }) {
  return (
    <LineChart
      title={text.equityChart.title}
      lines={[LINES[name]]}
      read={() => ({
        times: rows.value.map(({ timeMs }) => timeMs / 1000),
        values: [rows.value.map((row) => (name === "pnl" ? row.profit : row.equity))],
      })}
    />
  );
}

function Tools() {
  const last = rows.value.at(-1);
  const fall = largestFall(rows.value);
  const client = accountClient.value;
  return (
    <div class="list-tools">
      <div class="intervals" role="group" aria-label={text.lists.range}>
        {EQUITY_RANGES.map((each) => (
          <button
            type="button"
            class="mini"
            aria-pressed={range.value === each}
            title={text.equityChart.ranges[each]}
            onClick={() => {
              range.value = each;
            }}
          >
            {text.equityChart.shortRanges[each]}
          </button>
        ))}
      </div>
      <div class="intervals" role="group" aria-label={text.equityChart.title}>
        {VIEWS.map((each) => (
          <button
            type="button"
            class="mini"
            aria-pressed={view.value === each}
            onClick={() => {
              view.value = each;
            }}
          >
            {text.equityChart.views[each]}
          </button>
        ))}
      </div>
      <span class="muted">
        {text.equityChart.profit}{" "}
        <strong class={`num ${tone(last?.profit)}`}>{last === undefined ? "–" : `${signed(last.profit)} USDC`}</strong>
      </span>
      <span class="muted">
        {text.equityChart.fall} <strong class="num">{last === undefined ? "–" : `${usd(fall)} USDC`}</strong>
      </span>
      {client !== null && (
        <button
          type="button"
          class="mini"
          onClick={() => void download("equity", (page) => client.equityHistory({ ...queryOf(range.peek()), ...page }))}
        >
          {text.csv}
        </button>
      )}
    </div>
  );
}
