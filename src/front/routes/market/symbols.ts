import { PPM_DECIMALS, printFixed, printQuanta } from "../../../core/base/units.ts";
import { type Instrument, printPrice } from "../../../core/protocol/instrument.ts";
import { InstrumentList, SymbolsQuery } from "../../../wire/schema/market.ts";
import { listJson } from "../../json/json-writers.ts";
import type { Context } from "../../routing/context.ts";
import { type Route, route } from "../../routing/route.ts";

export const symbolsRoute = ({ market, symbols }: Context): Route =>
  route({
    method: "GET",
    path: "/market/symbols",
    access: "PUBLIC",
    summary: "Instruments with their limits, fees and trading status",
    query: SymbolsQuery,
    replies: { 200: InstrumentList },
    handle({ call, query }) {
      const rows = symbols.selected(query.symbol).map((instrument) => {
        return JSON.stringify({ ...describeInstrument(instrument), ...market.symbol(instrument.id).status });
      });
      call.reply(200, listJson(rows, null));
    },
  });

/** The fields of Instrument without its status. */
function describeInstrument(instrument: Instrument) {
  const { config } = instrument;
  const rate = (ppm: number) => printFixed(ppm, PPM_DECIMALS);
  return {
    symbol: config.symbol,
    baseAsset: config.baseAsset,
    quoteAsset: config.quoteAsset,
    tickSize: config.tickSize,
    stepSize: config.stepSize,
    minQuantity: config.minQuantity,
    maxQuantity: config.maxQuantity,
    minNotional: config.minNotional,
    maxPrice: printPrice(instrument, instrument.maxPriceTicks),
    maxOpenOrders: instrument.maxOpenOrders,
    maxLeverage: instrument.maxLeverage,
    riskTiers: instrument.riskTiers.map((tier) => ({
      maxNotional: printQuanta(tier.maxNotionalQuanta),
      maxLeverage: tier.maxLeverage,
      initialMarginRate: rate(tier.initialMarginPpm),
      maintenanceMarginRate: rate(tier.maintenanceMarginPpm),
      maintenanceDeduction: printQuanta(tier.maintenanceDeductionQuanta),
    })),
    makerFeeRate: config.makerFeeRate,
    takerFeeRate: config.takerFeeRate,
    liquidationFeeRate: config.liquidationFeeRate,
    priceBand: config.priceBand,
    fundingIntervalHours: config.fundingIntervalHours,
    fundingRateCap: config.fundingRateCap,
  };
}
