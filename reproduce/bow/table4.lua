-- Bag-of-word prediction, Table 4: what each scheme costs: preparing batches, the device's work beyond
-- plain masked LM, samples a second. An encoder as deep as the paper's, or the decoder's one layer would
-- weigh too much. A step of each scheme in turn, compared within the turn: how fast a machine is drifts by
-- more than what is measured. It must be quiet.
-- cost: mini about 2 minutes a seed
-- times: of the machine at hand; recorded ones stand beside them and are not mixed with them

settings.encoder_layers = settings.efficiency_layers
settings.context_steps = settings.efficiency_steps
local schemes = {"bow", "autoencoding", "autoregression", "enhanced"}
use "main"

for seed in seeds() do
  local times = pretrain_interleaved("mlm", "none", random_encoder(), table.concat(schemes, ","))
  for scheme in each("mlm", table.unpack(schemes)) do
    note_row(scheme, cost("cost of " .. scheme, times, scheme))
  end
end
