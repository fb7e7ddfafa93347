"""Makes a picture fit for the model: right way up, one frame, no metadata, small enough, PNG or JPEG."""

from __future__ import annotations

import io
import warnings

from PIL import Image, UnidentifiedImageError

from bot.files.wire import Arguments, Output, Reason, Refused

# Only these decoders are ever tried; Pillow knows many old ones.
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_JPEG_QUALITIES = (85, 70, 50)
_ORIENTATION = 0x0112  # Exif 2.32 s4.6.4 A
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_DRAFT_FACTOR = 8  # a JPEG decoder can halve each side up to three times while it decodes


def shrink(data: bytes, arguments: Arguments) -> Output:
    """Facts: `media_type`, `width`, `height`, `note`. Arguments: `long_edge` and `max_side` in px, `max_pixels`
    before decoding, `max_bytes` of the result, `png_bytes` up to which a picture may stay PNG.
    """
    warnings.simplefilter("ignore")  # Pillow's bomb warning: the check below is stricter
    Image.MAX_IMAGE_PIXELS = None
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as opened:
            return _shrink(opened, arguments)
    except UnidentifiedImageError as error:
        raise Refused(Reason.UNSUPPORTED, "This kind of picture cannot be read; PNG and JPEG can.") from error
    except (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError) as error:
        raise Refused(Reason.DAMAGED, "The picture is damaged or incomplete.") from error


def _shrink(opened: Image.Image, arguments: Arguments) -> Output:
    edge = arguments["long_edge"]
    original = opened.size
    if opened.format == "JPEG":
        if opened.width * opened.height > arguments["max_pixels"] * _DRAFT_FACTOR:
            raise _bomb(original)
        opened.draft(None, (edge, edge))
    if opened.width * opened.height > arguments["max_pixels"]:
        raise _bomb(original)
    animated = bool(getattr(opened, "is_animated", False)) and opened.format in {"GIF", "PNG", "WEBP"}
    opened.seek(0)
    opened.load()
    turn = _TURNS.get(opened.getexif().get(_ORIENTATION, 1))  # after loading: TIFF is turned by its decoder
    picture = _plain(_scaled(opened, edge))
    upright = picture if turn is None else picture.transpose(turn)
    media_type, body = _encoded(upright, opened.format == "JPEG", arguments)
    with Image.open(io.BytesIO(body)) as result:
        width, height = result.size
    note = "Only the first frame of the animation is shown." if animated else ""
    return Output({"media_type": media_type, "width": width, "height": height, "note": note}, body)


def _bomb(size: tuple[int, int]) -> Refused:
    return Refused(Reason.TOO_LARGE, f"The picture is too large to be opened ({size[0]:,} x {size[1]:,} pixels).")


def _scaled(image: Image.Image, edge: int) -> Image.Image:
    """No side above `edge`, none below one pixel; never enlarged. Palettes are resolved first: they cannot be mixed."""
    if max(image.size) <= edge:
        return image
    factor = edge / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    direct = image.mode in {"RGB", "RGBA", "L", "LA", "CMYK", "YCbCr"} and "transparency" not in image.info
    return (image if direct else _plain(image)).resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _plain(image: Image.Image) -> Image.Image:
    """RGB, or RGBA where something is transparent. 16-bit greys are scaled, not clipped."""
    if image.mode.startswith("I"):
        return image.convert("F").point(lambda value: value * (1 / 257.0) + 0.0).convert("RGB")
    if image.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in image.info:
        return image.convert("RGBA")
    return image.convert("RGB")


def _encoded(image: Image.Image, was_jpeg: bool, arguments: Arguments) -> tuple[str, bytes]:
    """PNG for drawings and transparency while small, else JPEG on white, coarser and smaller until it fits."""
    if not was_jpeg:
        body = _written(image, "PNG")
        if len(body) <= arguments["png_bytes"]:
            return "image/png", body
    flat = _on_white(image)
    while True:
        for quality in _JPEG_QUALITIES:
            body = _written(flat, "JPEG", quality)
            if len(body) <= arguments["max_bytes"]:
                return "image/jpeg", body
        if max(flat.size) <= 16:
            raise Refused(Reason.TOO_LARGE, "The picture cannot be made small enough.")
        flat = flat.resize((max(1, flat.width * 3 // 4), max(1, flat.height * 3 // 4)), Image.Resampling.LANCZOS)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode != "RGBA":
        return image
    ground = Image.new("RGB", image.size, (255, 255, 255))
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _written(image: Image.Image, form: str, quality: int = 0) -> bytes:
    # A copy without `info`: no metadata, comments or profiles can come along.
    bare = Image.frombytes(image.mode, image.size, image.tobytes())
    target = io.BytesIO()
    if form == "PNG":
        bare.save(target, "PNG", optimize=False)
    else:
        bare.save(target, "JPEG", quality=quality, optimize=True)
    return target.getvalue()
