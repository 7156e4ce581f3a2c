import type { Position } from "../../client/types.ts";
import { ActionButton } from "../dialogs/action-button.tsx";
import { positionDialog } from "../dialogs/position.tsx";
import { EXITS, exitsOf, exitText } from "../dialogs/protect.tsx";
import { pnlOf, positions } from "../state/account.ts";
import { decimalsOfMarket, tickerOf } from "../state/markets.ts";
import { askAndClose, reversePosition } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { assetOf, fixed, percent, price, signed, tone, usd } from "../text/format.ts";
import { MarketLink } from "./cells.tsx";
import { type Column, Table } from "./table.tsx";

const mark = ({ symbol, markPrice }: Position): string | null => tickerOf(symbol).value?.markPrice ?? markPrice;

/** How far the mark is from the liquidation price, as a share of the mark. */
function distance(position: Position): number | null {
  const now = Number(mark(position) ?? 0);
  return position.liquidationPrice === null || now === 0 ? null : Math.abs(Number(position.liquidationPrice) / now - 1);
}

/** The payment at the end of the running interval, at the present rate and mark. Negative: the position pays. */
function fundingToCome(position: Position): number | null {
  const rate = tickerOf(position.symbol).value?.fundingRate;
  if (rate == null) return null;
  const paid = Number(position.size) * Number(mark(position) ?? 0) * Number(rate);
  return position.side === "SHORT" ? paid : -paid;
}

/** The triggers that close the position or a part of it: of the take-profits, then of the stop-losses. */
function Exits({ position }: { position: Position }) {
  const [profit, loss] = EXITS.map(({ type }) => {
    const [first, ...others] = exitsOf(position, type);
    if (first === undefined) return text.noExit;
    return others.length === 0 ? exitText(first) : text.andMore(exitText(first), others.length);
  });
  return (
    <>
      {profit} <span class="sub">{loss}</span>
    </>
  );
}

const COLUMNS: readonly Column<Position>[] = [
  {
    title: text.market,
    cell: ({ symbol, side, leverage, marginMode }) => (
      <>
        <MarketLink symbol={symbol} isShort={side === "SHORT"} />{" "}
        <span class="tag">
          {marginMode === "CROSS" ? text.cross : text.isolated} {leverage}×
        </span>
      </>
    ),
  },
  {
    title: text.size,
    isNumber: true,
    cell: ({ symbol, side, size }) => (
      <span class={side === "SHORT" ? "down" : "up"}>
        {side === "SHORT" ? "−" : ""}
        {size} {assetOf(symbol)}
      </span>
    ),
  },
  { title: text.value, isNumber: true, cell: (row) => usd(Number(row.size) * Number(mark(row) ?? 0)) },
  { title: text.entry, isNumber: true, cell: (row) => price(row.entryPrice, decimalsOfMarket(row.symbol).price) },
  { title: text.mark, isNumber: true, cell: (row) => price(mark(row), decimalsOfMarket(row.symbol).price) },
  {
    title: text.liquidationShort,
    isNumber: true,
    cell: (row) => (
      <>
        <span class="warn">{price(row.liquidationPrice, decimalsOfMarket(row.symbol).price)}</span>{" "}
        <span class="sub">{distance(row) === null ? "" : `${fixed(100 * (distance(row) ?? 0), 1)}%`}</span>
      </>
    ),
  },
  { title: text.margin, isNumber: true, cell: (row) => usd(row.isolatedMargin ?? row.initialMargin) },
  {
    title: text.pnl,
    isNumber: true,
    cell: (row) => {
      const pnl = pnlOf(row);
      const margin = Number(row.initialMargin);
      return (
        <>
          <span class={tone(pnl)}>{signed(pnl)}</span>{" "}
          <span class={`sub ${tone(pnl)}`}>{margin === 0 ? "" : percent(pnl / margin)}</span>
        </>
      );
    },
  },
  {
    title: text.fundingOfPosition,
    isNumber: true,
    cell: (row) => {
      const next = fundingToCome(row);
      return (
        <>
          <span class={tone(row.cumulativeFunding)}>{signed(row.cumulativeFunding)}</span>{" "}
          <span class={`sub ${tone(next)}`}>{next === null ? "" : signed(next)}</span>
        </>
      );
    },
  },
  { title: text.exits, isNumber: true, isWide: true, cell: (row) => <Exits position={row} /> },
  { title: text.adl, cell: ({ adlRank }) => <AdlLights rank={adlRank} /> },
  {
    title: text.actions,
    cell: (row) => <Actions position={row} />,
  },
];

function Actions({ position }: { position: Position }) {
  const { symbol } = position;
  const open = (which: "CLOSE" | "PROTECT" | "MARGIN") => () => {
    positionDialog.value = { which, symbol };
  };
  return (
    <span class="row-actions">
      {position.marginMode === "ISOLATED" && (
        <button type="button" class="mini" onClick={open("MARGIN")}>
          {text.margin}
          <span class="hidden"> {symbol}</span>
        </button>
      )}
      <button type="button" class="mini" onClick={open("PROTECT")}>
        {text.exits}
        <span class="hidden"> {symbol}</span>
      </button>
      <ActionButton
        action={`reverse-${symbol}`}
        label={text.reverse}
        of={symbol}
        hint={text.reverseHint}
        onPress={() => void reversePosition(symbol)}
      />
      <button type="button" class="mini" onClick={open("CLOSE")}>
        {text.closePart}
        <span class="hidden"> {symbol}</span>
      </button>
      <ActionButton
        action={`close-${symbol}`}
        label={text.close}
        of={text.atMarketOf(symbol)}
        onPress={() => void askAndClose(symbol)}
      />
    </span>
  );
}

/** Five lights: more of them, earlier to be deleveraged. */
function AdlLights({ rank }: { rank: number | null }) {
  return (
    <span class="adl" role="img" aria-label={text.adlRank(rank)} title={text.adlRank(rank)}>
      {[1, 2, 3, 4, 5].map((light) => (
        <i data-on={(rank !== null && light <= rank) || undefined} />
      ))}
    </span>
  );
}

export function Positions() {
  return (
    <Table
      caption={text.positions}
      columns={COLUMNS}
      rows={positions.value}
      keyOf={({ symbol }) => symbol}
      empty={text.noPositions}
      isStacked
    />
  );
}
