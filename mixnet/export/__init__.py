"""``mx.export``: networks as programs and pages that run without mixnet."""

from mixnet.export.page.export_page import export_page as export_page
from mixnet.export.program import load_stablehlo as load_stablehlo
from mixnet.export.stablehlo import export_stablehlo as export_stablehlo
