import { CLOSE_TYPES } from "../../core/base/enums.ts";
import Type from "../../packages/typebox.ts";
import { PositionMarginMode } from "./orders.ts";
import {
  DecimalOut,
  Id,
  listOf,
  listQuery,
  nullable,
  object,
  PositionSide,
  Sequence,
  SymbolName,
  Time,
} from "./scalars.ts";

export const PositionHistoryQuery = object({ symbol: Type.Optional(SymbolName), ...listQuery });

export const CloseType = Type.Enum(CLOSE_TYPES, {
  description:
    "TRADE: the account's own orders closed all of it. LIQUIDATION: all of it was liquidated. ADL: auto-deleveraging " +
    "closed all of it for the liquidation of another account. MIXED: several of these, see the sizes.",
});

export const ClosedPosition = object(
  {
    positionId: Id("Id of the closed position: the trade that closed it."),
    symbol: SymbolName,
    side: PositionSide,
    marginMode: nullable(PositionMarginMode, { description: "When the position was closed. Null: not known." }),
    leverage: nullable(Type.Integer({ minimum: 1, examples: [10] }), {
      description: "The setting when the position was closed. Null: not known.",
    }),
    maxSize: DecimalOut("The largest size that the position had.", "0.5"),
    closedSize: DecimalOut("Sum of all quantities that reduced the position. At least maxSize.", "0.5"),
    liquidatedSize: DecimalOut("The part of closedSize that was liquidated.", "0"),
    deleveragedSize: DecimalOut("The part of closedSize that auto-deleveraging closed.", "0"),
    closeType: CloseType,
    entryPrice: DecimalOut("Average entry price of closedSize.", "65025.5"),
    exitPrice: DecimalOut("Average price at which closedSize was closed.", "65125.5"),
    realizedPnl: DecimalOut(
      "closedSize × (exitPrice − entryPrice) for a long position, the opposite for a short one.",
      "50",
    ),
    fee: DecimalOut("Trading fees of opening and closing. Negative: rebates.", "32.537625"),
    liquidationFee: DecimalOut("Fees of liquidations.", "0"),
    funding: DecimalOut("Funding received. Negative: paid.", "-1.25"),
    netPnl: DecimalOut("realizedPnl − fee − liquidationFee + funding.", "16.212375"),
    openedAt: nullable(
      Time(
        "When the position was opened. Null: it is older than the position history, which has only what came after.",
      ),
    ),
    closedAt: Time("When the position was closed."),
    sequence: Sequence,
  },
  { description: "A position that was closed or turned around. A turn closes one position and opens another." },
);
export const ClosedPositionList = listOf(
  ClosedPosition,
  "Closed positions, the last closed first. startTime and endTime refer to closedAt.",
);
