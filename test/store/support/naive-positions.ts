import { BUY, EXEC_ADL, EXEC_LIQUIDATION, EXEC_TRADE, SELL } from "../../../src/core/base/enums.ts";
import * as events from "../../../src/core/protocol/events.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { LoggedTransaction } from "./history-model.ts";

/** A closed position, reckoned from single fills and their prices. It uses no profit that the exchange reports. */
export interface NaivePosition {
  instrumentId: number;
  tradeId: number;
  side: number;
  leverage: number;
  marginMode: number;
  time: number;
  sequence: number;
  openedAt: number;
  maxLots: number;
  closedLots: number;
  liquidatedLots: number;
  deleveragedLots: number;
  realizedQuanta: number;
  feeQuanta: number;
  liquidationFeeQuanta: number;
  fundingQuanta: number;
  entryQuanta: bigint;
  exitQuanta: bigint;
}

/** One account's side of a fill. */
interface Fill {
  tradeId: number;
  lots: number;
  quanta: bigint;
  fee: bigint;
  how: number;
}

/** A part of a fill. */
interface Part extends Fill {
  time: number;
}

/** An open position: the parts of fills that opened and closed it. */
interface Open {
  size: number;
  maxLots: number;
  opened: Part[];
  closed: Part[];
  funding: number;
}

const FLAT: Open = { size: 0, maxLots: 0, opened: [], closed: [], funding: 0 };

/** The account's closed positions in the order of their closing. */
export function closedPositionsOf(
  accountId: number,
  log: readonly LoggedTransaction[],
  instruments: readonly Instrument[],
): NaivePosition[] {
  const found: NaivePosition[] = [];
  const open = new Map(instruments.map(({ id }) => [id, structuredClone(FLAT)]));
  const settings = new Map(instruments.map(({ id, defaultLeverage }) => [id, { leverage: defaultLeverage, mode: 0 }]));
  for (const { actorId, sequence, time, events: happened } of log)
    for (const event of happened as events.Event[]) {
      const position = open.get(actorId);
      const setting = settings.get(actorId);
      if (position === undefined || setting === undefined) continue;
      const isOwn = "accountId" in event && event.accountId === accountId;
      if (event.type === events.LeverageSet.code && isOwn) setting.leverage = event.leverage;
      if (event.type === events.MarginModeSet.code && isOwn) setting.mode = event.marginMode;
      if (event.type === events.FundingPaid.code && isOwn) position.funding += event.amountQuanta;
      for (const fill of fillsOf(event, accountId, instruments)) {
        const closing = Math.sign(fill.lots) === -Math.sign(position.size);
        const closedLots = closing ? Math.min(Math.abs(fill.lots), Math.abs(position.size)) : 0;
        const [closed, opened] = split({ ...fill, time }, closedLots);
        if (closedLots > 0) {
          position.closed.push(closed);
          position.size += closed.lots;
          if (position.size === 0) {
            const { leverage, mode: marginMode } = setting;
            const { tradeId } = fill;
            found.push({ instrumentId: actorId, tradeId, leverage, marginMode, time, sequence, ...sumsOf(position) });
            Object.assign(position, structuredClone(FLAT));
          }
        }
        if (opened.lots !== 0) {
          position.opened.push(opened);
          position.size += opened.lots;
        }
        position.maxLots = Math.max(position.maxLots, Math.abs(position.size));
      }
    }
  return found;
}

function fillsOf(event: events.Event, accountId: number, instruments: readonly Instrument[]): Fill[] {
  const fills: Fill[] = [];
  if (event.type === events.Traded.code) {
    const { tradeId, takerSide, quantityLots, priceTicks, execType } = event;
    const instrument = instruments.find(({ id }) => id === tradeId % 256);
    const quanta = BigInt(quantityLots) * BigInt(priceTicks) * BigInt(instrument?.quantaPerTickLot ?? 0);
    const bought = takerSide === BUY ? quantityLots : -quantityLots;
    if (event.takerAccountId === accountId)
      fills.push({ tradeId, quanta, lots: bought, fee: BigInt(event.takerFeeQuanta), how: execType });
    if (event.makerAccountId === accountId)
      fills.push({ tradeId, quanta, lots: -bought, fee: BigInt(event.makerFeeQuanta), how: EXEC_TRADE });
  }
  if (event.type === events.PositionTransferred.code) {
    const { tradeId, side, quantityLots } = event;
    const bought = side === BUY ? quantityLots : -quantityLots;
    const common = { tradeId, quanta: BigInt(event.quanta), fee: 0n };
    if (event.accountId === accountId) fills.push({ ...common, lots: bought, how: EXEC_LIQUIDATION });
    if (event.counterpartyId === accountId) fills.push({ ...common, lots: -bought, how: EXEC_ADL });
  }
  return fills;
}

/** The part of a fill that closes a position, and the rest. BigInt division rounds towards zero. */
function split(fill: Part, closedLots: number): [closed: Part, opened: Part] {
  const sign = Math.sign(fill.lots);
  const share = (amount: bigint) => (amount * BigInt(closedLots)) / BigInt(Math.abs(fill.lots));
  const closed = { ...fill, lots: sign * closedLots, quanta: share(fill.quanta), fee: share(fill.fee) };
  const rest = { lots: fill.lots - closed.lots, quanta: fill.quanta - closed.quanta, fee: fill.fee - closed.fee };
  return [closed, { ...fill, ...rest }];
}

function sumsOf({ opened, closed, funding, maxLots }: Open) {
  const sum = (parts: readonly Part[], of: (part: Part) => bigint): bigint =>
    parts.reduce((all, part) => all + of(part), 0n);
  const lotsOf = (how: number) =>
    closed.filter((part) => part.how === how).reduce((lots, part) => lots + Math.abs(part.lots), 0);
  const isLong = (opened[0]?.lots ?? 0) > 0;
  const entryQuanta = sum(opened, ({ quanta }) => quanta);
  const exitQuanta = sum(closed, ({ quanta }) => quanta);
  const forced = closed.filter(({ how }) => how === EXEC_LIQUIDATION);
  const liquidationFee = sum(forced, ({ fee }) => fee);
  return {
    side: isLong ? BUY : SELL,
    openedAt: opened[0]?.time ?? 0,
    maxLots,
    closedLots: lotsOf(EXEC_TRADE) + lotsOf(EXEC_LIQUIDATION) + lotsOf(EXEC_ADL),
    liquidatedLots: lotsOf(EXEC_LIQUIDATION),
    deleveragedLots: lotsOf(EXEC_ADL),
    realizedQuanta: Number(isLong ? exitQuanta - entryQuanta : entryQuanta - exitQuanta),
    feeQuanta: Number(sum([...opened, ...closed], ({ fee }) => fee) - liquidationFee),
    liquidationFeeQuanta: Number(liquidationFee),
    fundingQuanta: funding,
    entryQuanta,
    exitQuanta,
  };
}
